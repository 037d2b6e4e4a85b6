/** An operator of webhooks that the test of the package runs in pods. With the argument `manifests`, it prints what it needs in the cluster. */
import { argv, env, stdout } from 'node:process';
import {
  defineKind,
  mutating,
  rolesOf,
  runOperator,
  spoke,
  validating,
  webhookManifests,
  withVersions,
} from '@gantry/operator';
import { z } from 'zod';

const group = 'hooks.example.com';
const V1 = defineKind({
  group,
  version: 'v1',
  kind: 'Copy',
  plural: 'copies',
  spec: z.object({ every: z.string(), keep: z.int() }),
});
const V2 = defineKind({
  group,
  version: 'v2',
  kind: 'Copy',
  plural: 'copies',
  spec: z.object({ schedule: z.string(), keep: z.int() }),
});
const COPIES = withVersions(V2, [
  spoke(V2, V1, {
    toHub: ({ spec: { every, keep } }) => ({ spec: { schedule: every, keep } }),
    fromHub: ({ spec: { schedule, keep } }) => ({ spec: { every: schedule, keep } }),
  }),
]);
const onlyMore = validating({
  name: 'keep.copies.example.com',
  for: COPIES,
  operations: ['UPDATE'],
  validate: (request) =>
    request.operation === 'UPDATE' && request.object.spec.keep < request.old.spec.keep
      ? { denied: 'spec.keep: must not become less' }
      : {},
});
const owner = mutating({
  name: 'owner.copies.example.com',
  for: COPIES,
  operations: ['CREATE'],
  mutate: ({ object, user }) => {
    const annotations = { ...object.metadata.annotations, 'example.com/owner': user.username ?? '' };
    return { ...object, metadata: { ...object.metadata, annotations } };
  },
});
const options = {
  name: 'copies',
  controllers: [],
  http: { port: 8080 },
  webhooks: { admission: [onlyMore, owner], conversions: [COPIES] },
};

if (argv[2] === 'manifests') {
  const { NAMESPACE: namespace = '', IMAGE: image, FOLDER: path = '' } = env;
  const labels = { 'app.kubernetes.io/name': options.name };
  const container = {
    name: 'webhooks',
    image,
    workingDir: path,
    command: ['node', 'webhooks.ts'],
    ports: [{ name: 'http', containerPort: 8080 }],
    readinessProbe: { httpGet: { path: '/readyz', port: 'http' }, periodSeconds: 1 },
    volumeMounts: [{ name: 'project', mountPath: path, readOnly: true }],
  };
  const spec = {
    serviceAccountName: options.name,
    containers: [container],
    volumes: [{ name: 'project', hostPath: { path } }],
  };
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: options.name, namespace },
    spec: { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
  const items = [...webhookManifests(options, { namespace }), ...rolesOf(options, { namespace }), deployment];
  stdout.write(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
} else await runOperator(options);
