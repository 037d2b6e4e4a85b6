import { VersionApi } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { definition, establish } from './crd-fixtures.ts';
import { documentAt, expectDiscovered, resourceNames } from './discovery-documents.ts';
import { KINDS } from './kinds.ts';
import { type ClusterUnderTest, type Proof, proof } from './world.ts';

/** One resource of every group, and the groups that have two versions twice. */
const RESOURCES: readonly (readonly [group: string, version: string, resource: string])[] = [
  ['', 'v1', 'namespaces'],
  ['admissionregistration.k8s.io', 'v1', 'validatingwebhookconfigurations'],
  ['apiextensions.k8s.io', 'v1', 'customresourcedefinitions'],
  ['apiregistration.k8s.io', 'v1', 'apiservices'],
  ['apps', 'v1', 'deployments'],
  ['authentication.k8s.io', 'v1', 'tokenreviews'],
  ['authorization.k8s.io', 'v1', 'selfsubjectaccessreviews'],
  ['autoscaling', 'v1', 'horizontalpodautoscalers'],
  ['autoscaling', 'v2', 'horizontalpodautoscalers'],
  ['batch', 'v1', 'jobs'],
  ['certificates.k8s.io', 'v1', 'certificatesigningrequests'],
  ['coordination.k8s.io', 'v1', 'leases'],
  ['discovery.k8s.io', 'v1', 'endpointslices'],
  ['events.k8s.io', 'v1', 'events'],
  ['networking.k8s.io', 'v1', 'ingresses'],
  ['node.k8s.io', 'v1', 'runtimeclasses'],
  ['policy', 'v1', 'poddisruptionbudgets'],
  ['scheduling.k8s.io', 'v1', 'priorityclasses'],
  ['storage.k8s.io', 'v1', 'csinodes'],
];

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const PROMPT_MS = 120_000;

interface AggregatedGroups {
  readonly kind: string;
  readonly apiVersion: string;
  readonly items: readonly {
    readonly metadata: { readonly name?: string };
    readonly versions: readonly { readonly version: string; readonly resources: readonly { resource: string }[] }[];
  }[];
}

/** `group/version/resource` of all that the aggregated documents of /api and /apis hold. */
async function aggregated(cluster: ClusterUnderTest, accept: string): Promise<ReadonlySet<string>> {
  const documents = await Promise.all(
    ['/api', '/apis'].map((path) => documentAt<AggregatedGroups>(cluster, path, accept)),
  );
  for (const { kind, apiVersion } of documents)
    expect({ kind, apiVersion }).toEqual({ kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2' });
  return new Set(
    documents
      .flatMap(({ items }) => items)
      .flatMap(({ metadata, versions }) =>
        versions.flatMap(({ version, resources }) =>
          resources.map(({ resource }) => `${metadata.name ?? ''}/${version}/${resource}`),
        ),
      ),
  );
}

/** What clients send that take the aggregated form where there is one, and the plain one elsewhere. */
const NEGOTIATED = `${AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json`;

function presence(codename: string, accept: string): Proof {
  return proof(codename, async ({ cluster }) => {
    const found = await aggregated(cluster, accept);
    for (const triple of RESOURCES) expect([...found]).toContain(triple.join('/'));
  });
}

function presenceOfCustom(codename: string, accept: string): Proof {
  return proof(codename, async (world) => {
    const { spec } = await establish(world, definition(world, { scope: 'Namespaced' }));
    const wanted = `${spec.group}/v1/${spec.names.plural}`;
    await eventually(`${wanted} is in the aggregated document`, PROMPT_MS, async () =>
      (await aggregated(world.cluster, accept)).has(wanted),
    );
  });
}

interface GroupDocument {
  readonly name: string;
  readonly versions: readonly { readonly groupVersion: string }[];
  readonly preferredVersion?: { readonly groupVersion: string };
}

export const DISCOVERY: readonly Proof[] = [
  presence(
    '[sig-api-machinery] AggregatedDiscovery should support raw aggregated discovery endpoint Accept headers [Conformance]',
    AGGREGATED,
  ),
  presenceOfCustom(
    '[sig-api-machinery] AggregatedDiscovery should support raw aggregated discovery request for CRDs [Conformance]',
    AGGREGATED,
  ),
  presence(
    '[sig-api-machinery] AggregatedDiscovery should support aggregated discovery interface [Conformance]',
    NEGOTIATED,
  ),
  presenceOfCustom(
    '[sig-api-machinery] AggregatedDiscovery should support aggregated discovery interface for CRDs [Conformance]',
    NEGOTIATED,
  ),
  proof(
    '[sig-api-machinery] Discovery should validate PreferredVersion for each APIGroup [Conformance]',
    async ({ cluster }) => {
      const { groups } = await documentAt<{ groups: readonly GroupDocument[] }>(cluster, '/apis/');
      expect(groups).not.toHaveLength(0);
      // Groups of custom resources come and go with the tests beside this one.
      for (const { name } of groups.filter((group) => !group.name.endsWith('.example.com'))) {
        const group = await documentAt<GroupDocument>(cluster, `/apis/${name}/`);
        const versions = group.versions.map(({ groupVersion }) => groupVersion);
        expect(versions).toContain(group.preferredVersion?.groupVersion);
      }
    },
  ),
  proof(
    '[sig-api-machinery] Discovery should locate the groupVersion and a resource within each APIGroup [Conformance]',
    async ({ cluster }) => {
      for (const [group, version, resource] of RESOURCES) {
        const groupVersion = group === '' ? version : `${group}/${version}`;
        const path = group === '' ? `/api/${version}` : `/apis/${groupVersion}`;
        expect(await resourceNames(cluster, path, groupVersion)).toContain(resource);
      }
    },
  ),
  proof('[sig-api-machinery] server version should find the server version [Conformance]', async (world) => {
    const version = await world.api(VersionApi).getCode();
    expect(version.major).toMatch(/^[1-9]$/);
    expect(version.minor).toMatch(/^[0-9]+/);
  }),
  proof(
    '[sig-api-machinery] CustomResourceDefinition resources [Privileged:ClusterAdmin] should include custom resource definition resources in discovery documents [Conformance]',
    async ({ cluster }) => expectDiscovered(cluster, KINDS.CustomResourceDefinition),
  ),
  proof(
    '[sig-api-machinery] Servers with support for Table transformation should return a 406 for a backend which does not implement metadata [Conformance]',
    async ({ cluster }) => {
      const review = { kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1' };
      const answer = await cluster.raw('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
        method: 'POST',
        headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io', 'content-type': 'application/json' },
        body: JSON.stringify({ ...review, spec: { nonResourceAttributes: { path: '/', verb: 'get' } } }),
      });
      expect(answer.status).toBe(406);
      expect(JSON.parse(answer.text)).toMatchObject({ kind: 'Status', code: 406 });
    },
  ),
];
