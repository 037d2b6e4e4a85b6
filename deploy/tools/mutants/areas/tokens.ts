import type { Mutant } from '../mutant.ts';

const AUTHN = 'services/apiserver/src/auth/authn';
const CLEANER = 'services/controller-manager/src/controllers/legacy-token-cleaner';

/** Tokens in Secrets: what is refused of them, and what is cleaned up. */
export const TOKEN_MUTANTS: readonly Mutant[] = [
  {
    name: 'a token that is marked as invalid authenticates',
    file: `${AUTHN}/token-authenticator.ts`,
    text: "if (legacy.kind === 'invalidated') return undefined;",
    replacement: '',
    tests: [`${AUTHN}/token-authenticator.test.ts`],
    protects: 'the cluster from a stolen token that was idle for a year',
  },
  {
    name: 'each use of a token in a Secret is written',
    file: `${AUTHN}/legacy-tokens.ts`,
    text: 'if (this.#unwritten.has(uid) || isRecent(secret, this.#clock.now())) return;',
    replacement: '',
    tests: [`${AUTHN}/legacy-tokens.test.ts`],
    protects: 'etcd from a write for each request',
  },
  {
    name: "the last use of a token is written to the Secret's successor",
    file: 'services/apiserver/src/loops/legacy-tokens/legacy-tokens.ts',
    text: 'secret.metadata.uid !== used.metadata.uid || ',
    replacement: '',
    tests: ['services/apiserver/src/loops/legacy-tokens/legacy-tokens.test.ts'],
    protects: 'the clean-up from taking an unused token for a used one',
  },
  {
    name: 'a token that was just used is marked as invalid',
    file: `${CLEANER}/controller.ts`,
    text: 'merge: { metadata: { uid, resourceVersion, labels } }',
    replacement: 'merge: { metadata: { uid, labels } }',
    tests: [`${CLEANER}/controller.test.ts`],
    protects: 'the user of a token that was long idle',
  },
  {
    name: 'a token that was just used is deleted',
    file: `${CLEANER}/controller.ts`,
    text: 'client.delete(SECRETS, key, { uid, resourceVersion }, signal)',
    replacement: 'client.delete(SECRETS, key, { uid }, signal)',
    tests: [`${CLEANER}/controller.test.ts`],
    protects: 'who has removed the mark',
  },
  {
    name: 'a token that an administrator has made is cleaned up',
    file: `${CLEANER}/plan.ts`,
    text: ' || !isGenerated(secret, account)',
    replacement: '',
    tests: [`${CLEANER}/plan.test.ts`],
    protects: 'tokens that are kept for a rare use',
  },
  {
    name: 'a token that a pod mounts is cleaned up',
    file: `${CLEANER}/plan.ts`,
    text: "if (pods.some((pod) => secretsOfPod(pod).has(secret.metadata.name ?? ''))) return later;",
    replacement: '',
    tests: [`${CLEANER}/plan.test.ts`],
    protects: 'pods that could not start again without it',
  },
];
