import { readFileSync } from 'node:fs';
import type { Namespace, ServiceAccount } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { planDefaultAccount } from './plan.ts';

interface Case {
  readonly name: string;
  /** When it is absent, there is no namespace of this name. */
  readonly namespace?: { readonly phase?: string; readonly deleting?: boolean };
  readonly account?: { readonly deleting?: boolean };
  readonly want: readonly string[];
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const deletion = ({ deleting = false }: { readonly deleting?: boolean }) =>
  deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};

function namespaceOf({ namespace }: Case): Namespace | undefined {
  if (namespace === undefined) return undefined;
  const status = namespace.phase === undefined ? {} : { status: { phase: namespace.phase } };
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a', ...deletion(namespace) }, ...status };
}

function accountOf({ account }: Case): ServiceAccount | undefined {
  if (account === undefined) return undefined;
  const metadata = { name: 'default', namespace: 'a', ...deletion(account) };
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata };
}

describe('planning the default account', () => {
  it.each(CASES)('$name', (one) => {
    const namespace = namespaceOf(one);
    const { actions } = planDefaultAccount(namespace, accountOf(one));
    const made = actions.map(({ kind, account: { metadata } }) => `${kind} ${metadata.namespace}/${metadata.name}`);
    expect(made).toEqual(one.want);
    // Once the actions are carried out, no more are planned.
    for (const { account } of actions) expect(planDefaultAccount(namespace, account).actions).toEqual([]);
  });

  it('makes an account with nothing but its name', () => {
    const namespace: Namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } };
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'a' } };
    expect(planDefaultAccount(namespace, undefined)).toEqual({ actions: [{ kind: 'create', account }] });
  });
});
