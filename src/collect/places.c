// SPDX-License-Identifier: MIT
/* A treap of intervals. */
#include "collect/places.h"

#include <errno.h>
#include <stddef.h>
#include <sys/random.h>

static struct wt_place *node(const struct wt_places *places, uint32_t at)
{
	return at ? &places->lives.data[at - 1] : NULL;
}

static uint64_t reach_of(const struct wt_places *places, uint32_t at)
{
	return at ? places->lives.data[at - 1].reach : 0;
}

static void measure(const struct wt_places *places, uint32_t at)
{
	struct wt_place *place = node(places, at);
	uint64_t left = reach_of(places, place->left), right = reach_of(places, place->right);

	place->reach = place->end;
	if (left > place->reach)
		place->reach = left;
	if (right > place->reach)
		place->reach = right;
}

/* The parts of a tree with addresses below and from `address` on. */
static void split(
	struct wt_places *places, uint32_t at, uint64_t address, uint32_t *below, uint32_t *from)
{
	struct wt_place *place = node(places, at);

	if (!place) {
		*below = *from = 0;
		return;
	}
	if (place->address < address) {
		split(places, place->right, address, &place->right, from);
		*below = at;
	} else {
		split(places, place->left, address, below, &place->left);
		*from = at;
	}
	measure(places, at);
}

static uint32_t insert(struct wt_places *places, uint32_t at, uint32_t added)
{
	struct wt_place *place = node(places, at), *new = node(places, added);

	if (!place || new->rank > place->rank) {
		split(places, at, new->address, &new->left, &new->right);
		measure(places, added);
		return added;
	}
	if (new->address < place->address)
		place->left = insert(places, place->left, added);
	else
		place->right = insert(places, place->right, added);
	measure(places, at);
	return at;
}

/* By chance, that nobody can make the tree a list: who writes the records may be hostile. */
static uint32_t rank_of_next(struct wt_places *places)
{
	uint64_t x;

	if (!places->seed && getrandom(&places->seed, sizeof(places->seed), GRND_NONBLOCK) < 0)
		places->seed = (uintptr_t)places;
	x = places->seed + places->lives.cnt * 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)(x >> 32);
}

int wt_places__begin(struct wt_places *places, uint64_t address, uint64_t bytes, uint32_t owner,
	uint64_t from_ns)
{
	uint64_t *newest = wt_map__find(&places->newest, address);
	struct wt_place place = {
		.address = address,
		.from_ns = from_ns,
		.to_ns = UINT64_MAX,
		.owner = owner,
	};

	if (__builtin_add_overflow(address, bytes, &place.end))
		place.end = UINT64_MAX;
	if (newest) {
		struct wt_place *last = &places->lives.data[*newest];

		if (last->end == place.end && last->owner == owner) {
			last->to_ns = UINT64_MAX;
			return 0;
		}
	}
	if (places->lives.cnt >= WT_PLACES_MAX) {
		places->dropped_cnt++;
		return 0;
	}
	place.rank = rank_of_next(places);
	if (wt_map__put(&places->newest, address, places->lives.cnt) ||
		wt_vec__push(&places->lives, place))
		return -ENOMEM;
	places->root = insert(places, places->root, (uint32_t)places->lives.cnt);
	return 0;
}

void wt_places__end(struct wt_places *places, uint64_t address, uint64_t to_ns)
{
	uint64_t *newest = wt_map__find(&places->newest, address);

	if (newest)
		places->lives.data[*newest].to_ns = to_ns;
}

/* What the lives that hold an address say. */
struct verdict {
	uint64_t address, at_ns;
	uint32_t owner, owner_then;
	bool any, differ;           /* of all lives */
	bool any_then, differ_then; /* of those at that time */
};

static void hear(struct verdict *verdict, const struct wt_place *place)
{
	verdict->differ |= verdict->any && verdict->owner != place->owner;
	verdict->any = true;
	verdict->owner = place->owner;
	if (verdict->at_ns < place->from_ns || verdict->at_ns > place->to_ns)
		return;
	verdict->differ_then |= verdict->any_then && verdict->owner_then != place->owner;
	verdict->any_then = true;
	verdict->owner_then = place->owner;
}

static void ask(const struct wt_places *places, uint32_t at, struct verdict *verdict)
{
	while (at && reach_of(places, at) > verdict->address) {
		const struct wt_place *place = node(places, at);

		ask(places, place->left, verdict);
		if (place->address > verdict->address)
			return;
		if (place->end > verdict->address)
			hear(verdict, place);
		at = place->right;
	}
}

bool wt_places__owner(
	const struct wt_places *places, uint64_t address, uint64_t at_ns, uint32_t *owner)
{
	struct verdict verdict = {.address = address, .at_ns = at_ns};

	ask(places, places->root, &verdict);
	if (!verdict.any || places->dropped_cnt)
		return false;
	*owner = verdict.differ ? verdict.owner_then : verdict.owner;
	return !verdict.differ || (at_ns != UINT64_MAX && verdict.any_then && !verdict.differ_then);
}

void wt_places__free(struct wt_places *places)
{
	wt_vec__free(&places->lives);
	wt_map__free(&places->newest);
	*places = (struct wt_places){0};
}
