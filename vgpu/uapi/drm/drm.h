// SPDX-License-Identifier: MIT
/*
 * linux/kfd_ioctl.h includes <drm/drm.h> but uses nothing of it except the integer types. Debian
 * keeps that header in libdrm's own directory, so this stands in for it and no SDK is needed.
 */
#ifndef VGPU_UAPI_DRM_H
#define VGPU_UAPI_DRM_H

#include <linux/ioctl.h>
#include <linux/types.h>

#endif
