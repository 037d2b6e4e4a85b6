import { readFileSync } from 'node:fs';
import type { ConfigMap, Namespace } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { planRootCa, ROOT_CA } from './plan.ts';

interface Case {
  readonly name: string;
  /** When it is absent, there is no namespace. */
  readonly namespace?: { readonly deleting?: boolean };
  /** The description `as made` stands for the controller's own text. */
  readonly configMap?: {
    readonly data?: Record<string, string>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly want: readonly string[];
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const DESCRIPTION = 'kubernetes.io/description';
const PEM = 'pem';
const DESCRIBED =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

function namespaceOf({ namespace }: Case): Namespace | undefined {
  if (namespace === undefined) return undefined;
  const deletion = namespace.deleting === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a', ...deletion } };
}

function configMapOf({ configMap }: Case): ConfigMap | undefined {
  if (configMap === undefined) return undefined;
  const { annotations, data } = configMap;
  const described = Object.entries(annotations ?? {}).map(([key, text]) => [
    key,
    text === 'as made' ? DESCRIBED : text,
  ]);
  const metadata = { name: ROOT_CA, namespace: 'a', resourceVersion: '7' };
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: annotations === undefined ? metadata : { ...metadata, annotations: Object.fromEntries(described) },
    ...(data === undefined ? {} : { data }),
  };
}

describe('planning the root CA', () => {
  it.each(CASES)('$name', (one) => {
    const [namespace, before] = [namespaceOf(one), configMapOf(one)];
    const { actions } = planRootCa(namespace, before, PEM);
    expect(actions.map(({ kind }) => kind)).toEqual(one.want);
    for (const { configMap } of actions) {
      expect(configMap).toEqual({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          name: ROOT_CA,
          namespace: 'a',
          ...before?.metadata,
          annotations: { ...before?.metadata.annotations, [DESCRIPTION]: DESCRIBED },
        },
        data: { 'ca.crt': PEM },
      });
      // Once the actions are carried out, no more are planned until the CA changes.
      expect(planRootCa(namespace, configMap, PEM).actions).toEqual([]);
      expect(planRootCa(namespace, configMap, 'new').actions).toEqual([
        { kind: 'update', configMap: { ...configMap, data: { 'ca.crt': 'new' } } },
      ]);
    }
  });
});
