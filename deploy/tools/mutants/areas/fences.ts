import type { Mutant } from '../mutant.ts';

const ELECTION = 'packages/etcd/src/election';
const ELECTION_TESTS = [`${ELECTION}/election.test.ts`];
const FENCES = 'services/apiserver/src/registry/writing/fences.ts';
const FENCE_TESTS = ['services/apiserver/src/registry/writing/election-fences.test.ts'];

/** Leaders: their elections, and the fences of their writes. */
export const FENCE_MUTANTS: readonly Mutant[] = [
  {
    name: 'the epoch is not compared at the commit',
    file: 'services/apiserver/src/storage/group.ts',
    text: "{ key: fence.electionKey, target: 'create-revision', equals: fence.epoch },",
    replacement: '',
    tests: ['services/apiserver/src/storage/memory-store.test.ts'],
    protects: 'writes of a leader that has lost its election',
  },
  {
    name: 'the incarnation is not compared at the commit',
    file: 'services/apiserver/src/storage/group.ts',
    text: "{ key: INCARNATION_KEY, target: 'value', equals: Buffer.from(fence.incarnation) },",
    replacement: '',
    tests: ['services/apiserver/src/storage/memory-store.test.ts'],
    protects: 'writes of a leader that was elected before etcd was restored',
  },
  {
    name: 'a leader writes without a fence',
    file: FENCES,
    text: 'throw refuse(`User "${user.name}" may write only as the leader: the request carries no fence`);',
    replacement: 'return undefined;',
    tests: FENCE_TESTS,
    protects: 'writes of a standby, or of a leader of long ago',
  },
  {
    name: 'any user may carry a fence',
    file: FENCES,
    text: 'if (ownKey === undefined)\n    throw refuse(`User "${user.name}" takes part in no election: the request may carry no fence`);',
    replacement: '',
    tests: FENCE_TESTS,
    protects: 'the content of the election keys, which a fence of any user could probe',
  },
  {
    name: 'a leader carries the fence of another election',
    file: FENCES,
    text: 'if (fence.electionKey !== ownKey) {',
    replacement: 'if (fence.electionKey === undefined) {',
    tests: FENCE_TESTS,
    protects: "a scheduler that has lost its election and writes under the controller-manager's",
  },
  {
    name: 'a leader acts on a cache from before its election',
    file: FENCES,
    text: 'if (fence.cacheRevision < fence.epoch) {',
    replacement: 'if (fence.cacheRevision < 0) {',
    tests: FENCE_TESTS,
    protects: 'what the leader before has written: the new one would do it again',
  },
  {
    name: 'an election key that is held is taken',
    file: `${ELECTION}/election.ts`,
    text: 'compare: [vacant(key)], success',
    replacement: 'compare: [], success',
    tests: ELECTION_TESTS,
    protects: 'two leaders at the same time',
  },
  {
    name: 'a candidate takes the term of another for its own',
    file: `${ELECTION}/election.ts`,
    text: 'if (holder?.lease !== lease.id) break;',
    replacement: 'if (holder === undefined) break;',
    tests: ELECTION_TESTS,
    protects: 'two leaders at the same time',
  },
  {
    name: 'a term goes on after a doubt without a look at its key',
    file: `${ELECTION}/lease-holder.ts`,
    text: "if (this.#state === 'in-doubt' && !(await this.#stillOurs(member))) return this.#enter('gone');",
    replacement: '',
    tests: [`${ELECTION}/lease-holder.test.ts`],
    protects: 'a leader that was paused and resumes while another one leads',
  },
  {
    name: 'the local deadline counts from the answer',
    file: `${ELECTION}/lease-holder.ts`,
    text: 'this.#armDeadline(sentAtMs, renewed.ttlMs);',
    replacement: 'this.#armDeadline(clock.monotonicMs(), renewed.ttlMs);',
    tests: [`${ELECTION}/lease-holder.test.ts`],
    protects: "a slow answer: by then etcd's own time to live has run for as long",
  },
  {
    name: 'the local deadline does not end a term',
    file: `${ELECTION}/lease-holder.ts`,
    text: "clock.setTimer(remainingMs, () => this.#enter('in-doubt'))",
    replacement: 'clock.setTimer(remainingMs, () => {})',
    tests: ELECTION_TESTS,
    protects: 'a leader without a connection that goes on acting while another one is elected',
  },
  {
    name: 'the removal of the election key is not noticed',
    file: `${ELECTION}/lease-holder.ts`,
    text: `if (item.kind === 'events' && item.events.some((event) => event.kind === 'delete')) return 'deleted';`,
    replacement: '',
    tests: ELECTION_TESTS,
    protects: 'a leader that goes on after a restore or after an operator has removed its key',
  },
  {
    name: 'a leader acts on while its lease is in doubt',
    file: 'packages/controller-runtime/src/elected.ts',
    text: '    await this.#stop();\n    switch (event.kind) {',
    replacement: '    switch (event.kind) {',
    tests: ['packages/controller-runtime/src/elected.test.ts'],
    protects: 'two leaders that act at the same time',
  },
];
