/** What one client asked of one object, and the response. The check is fast if the values within an object's history are unique. */
export interface Operation {
  readonly client: number;
  /** Monotonic times of the request and of its response; an unknown outcome has none. */
  readonly calledAt: number;
  readonly returnedAt: number | undefined;
  readonly request:
    | { readonly kind: 'read' }
    | { readonly kind: 'create'; readonly value: string }
    /** Replaces `expected` by `value`. */
    | { readonly kind: 'update'; readonly expected: string; readonly value: string }
    /** Sets the value, whatever it is; creates the object. */
    | { readonly kind: 'write'; readonly value: string }
    /** Without `expected`: whatever the value is. */
    | { readonly kind: 'delete'; readonly expected?: string };
  readonly outcome: /** What a read returned, undefined for an object that does not exist; for a write that it was done. */
    | { readonly kind: 'ok'; readonly value?: string | undefined }
    /** A create found an object, a change found another value or none. */
    | { readonly kind: 'refused' }
    /** Without a response: it was done, then or later, or never. */
    | { readonly kind: 'unknown' };
}

/** The state of one object: its value, or nothing. */
type State = string | undefined;

/** The state after an operation took effect in `state` with its outcome; 'impossible' when it could not have had that outcome. */
function step(state: State, { request, outcome }: Operation): { readonly next: State } | 'impossible' {
  const done = outcome.kind === 'ok';
  switch (request.kind) {
    case 'read':
      return outcome.kind === 'unknown' || (done && outcome.value === state) ? { next: state } : 'impossible';
    case 'create':
      if (state !== undefined) return done ? 'impossible' : { next: state };
      return outcome.kind === 'refused' ? 'impossible' : { next: request.value };
    case 'write':
      return outcome.kind === 'refused' ? 'impossible' : { next: request.value };
    case 'update':
    case 'delete': {
      const next = request.kind === 'update' ? request.value : undefined;
      const fits = request.expected === undefined ? state !== undefined : state === request.expected;
      if (!fits) return done ? 'impossible' : { next: state };
      return outcome.kind === 'refused' ? 'impossible' : { next };
    }
  }
}

interface Event {
  readonly operation: number;
  readonly kind: 'call' | 'return';
  previous: Event | undefined;
  next: Event | undefined;
}

export type Verdict =
  | { readonly linearizable: true }
  /** `stuckAt`: the operations that no order could go on with, after the longest order that was found. */
  | { readonly linearizable: false; readonly stuckAt: readonly Operation[] }
  /** The search was longer than allowed. */
  | { readonly linearizable: undefined };

/**
 * Whether the history of one object could have happened on a single copy of it, one operation at a time, each between its call
 * and its return. Porcupine's algorithm: the search of Wing and Gong with Lowe's cache of (what has taken effect, state). At worst it is
 * exponential in the number of operations that overlap; with unique values it is linear in practice. An operation whose outcome is
 * unknown may take effect at any time after its call. Gives up after `maxSteps` operations were tried.
 */
export function checkLinearizable(operations: readonly Operation[], initial?: string, maxSteps = 5_000_000): Verdict {
  const history = operations.toSorted((one, other) => one.calledAt - other.calledAt);
  const head = eventsOf(history);
  const effective = new EffectiveSet();
  let steps = 0;
  const seen = new Set<string>();
  const taken: Taken[] = [];
  const open = history.map(({ outcome }) => outcome.kind === 'unknown');
  let state: State = initial;
  let required = open.filter((unknown) => !unknown).length;
  let best = { count: -1, stuckAt: [] as readonly Operation[] };
  const take = (event: Event, next: State, choice: Taken['choice']): void => {
    taken.push({ event, state, choice });
    state = next;
    effective.add(event.operation);
    if (open[event.operation] !== true) required--;
    lift(event);
  };
  const giveBack = ({ event, state: before }: Taken): void => {
    state = before;
    effective.removeLast();
    if (open[event.operation] !== true) required++;
    unlift(event);
  };
  let event = head.next;
  while (required > 0) {
    if (++steps > maxSteps) return { linearizable: undefined };
    if (event?.kind === 'call') {
      const result = step(state, history[event.operation] as Operation);
      const changes = result !== 'impossible' && result.next !== state;
      if (result !== 'impossible' && !changes && open[event.operation] !== true) {
        // What fits and changes nothing can always go first: whatever order there is, there is one with it here.
        take(event, state, 'forced');
        event = head.next;
      } else if (changes && isNew(seen, effective.keyWith(event.operation), result.next)) {
        take(event, result.next, 'free');
        event = head.next;
      } else event = event.next;
      continue;
    }
    if (taken.length > best.count) best = { count: taken.length, stuckAt: pendingAt(head, history) };
    let last = taken.pop();
    while (last?.choice === 'forced') {
      giveBack(last);
      last = taken.pop();
    }
    if (last === undefined) return { linearizable: false, stuckAt: best.stuckAt };
    giveBack(last);
    event = last.event.next;
  }
  return { linearizable: true };
}

/** An operation that was put into the order, and the state before it. */
interface Taken {
  readonly event: Event;
  readonly state: State;
  /** Whether another one could have been tried instead. */
  readonly choice: 'free' | 'forced';
}

/** Whether this set of operations has not led to this state before. */
function isNew(seen: Set<string>, operations: string, state: State): boolean {
  const key = `${operations}|${state ?? '\u0000'}`;
  if (seen.has(key)) return false;
  seen.add(key);
  return true;
}

/** A set of operations, added and removed like a stack. Almost all up to the newest are in it, so it is described by those that are not. */
class EffectiveSet {
  #highest = -1;
  /** Operations below the highest that are not in the set. */
  readonly #holes = new Set<number>();
  readonly #added: { readonly operation: number; readonly highestBefore: number }[] = [];

  add(operation: number): void {
    this.#added.push({ operation, highestBefore: this.#highest });
    if (operation < this.#highest) {
      this.#holes.delete(operation);
      return;
    }
    for (let hole = this.#highest + 1; hole < operation; hole++) this.#holes.add(hole);
    this.#highest = operation;
  }

  removeLast(): void {
    const last = this.#added.pop();
    if (last === undefined) return;
    if (last.operation < this.#highest) {
      this.#holes.add(last.operation);
      return;
    }
    for (let hole = last.highestBefore + 1; hole < last.operation; hole++) this.#holes.delete(hole);
    this.#highest = last.highestBefore;
  }

  /** Names the set with this operation in it. */
  keyWith(operation: number): string {
    this.add(operation);
    const key = `${this.#highest};${[...this.#holes].toSorted((one, other) => one - other).join(',')}`;
    this.removeLast();
    return key;
  }
}

const returns = new WeakMap<Event, Event>();

function eventsOf(history: readonly Operation[]): Event {
  const times = history.flatMap(({ calledAt, returnedAt }, operation) => {
    const call: Event = { operation, kind: 'call', previous: undefined, next: undefined };
    const back: Event = { operation, kind: 'return', previous: undefined, next: undefined };
    returns.set(call, back);
    return [
      { event: call, at: calledAt },
      { event: back, at: returnedAt ?? Number.POSITIVE_INFINITY },
    ];
  });
  times.sort((one, other) => one.at - other.at || (one.event.kind === 'call' ? -1 : 1));
  const head: Event = { operation: -1, kind: 'call', previous: undefined, next: undefined };
  let last = head;
  for (const { event } of times) {
    last.next = event;
    event.previous = last;
    last = event;
  }
  return head;
}

function unlink(event: Event): void {
  if (event.previous !== undefined) event.previous.next = event.next;
  if (event.next !== undefined) event.next.previous = event.previous;
}

function relink(event: Event): void {
  if (event.previous !== undefined) event.previous.next = event;
  if (event.next !== undefined) event.next.previous = event;
}

/** Takes an operation's two events out of the list. */
function lift(call: Event): void {
  unlink(call);
  const back = returns.get(call);
  if (back !== undefined) unlink(back);
}

/** Puts them back where they were: in the reverse order of taking out. */
function unlift(call: Event): void {
  const back = returns.get(call);
  if (back !== undefined) relink(back);
  relink(call);
}

/** Operations that were called before the first return that is left. */
function pendingAt(head: Event, history: readonly Operation[]): readonly Operation[] {
  const pending: Operation[] = [];
  for (let event = head.next; event !== undefined && event.kind === 'call'; event = event.next) {
    const operation = history[event.operation];
    if (operation !== undefined) pending.push(operation);
  }
  return pending;
}
