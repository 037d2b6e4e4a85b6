import { argv, env, stdout } from 'node:process';
import { rolesOf } from '@gantry/operator';
import { GREETINGS } from './greeting.ts';
import { operator } from './operator.ts';

const options = operator();
const { name } = options;
const image = env['IMAGE'] ?? `${name}:dev`;

const container = {
  name: 'controller',
  image,
  imagePullPolicy: 'IfNotPresent',
  ports: [{ name: 'http', containerPort: 8080 }],
  livenessProbe: { httpGet: { path: '/livez', port: 'http' } },
  readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
  resources: { requests: { cpu: '10m', memory: '64Mi' } },
  securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
};
const podSpec = {
  serviceAccountName: name,
  securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [container],
};
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: name },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: podSpec },
  },
};
const all = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
  GREETINGS.definition,
  // The least rights: what the controllers watch, own and declare.
  ...rolesOf(options, { namespace: name }),
  deployment,
];

// All manifests, or those of the kinds that are named.
const kinds = argv.slice(2);
const items = all.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind));
stdout.write(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, null, 2));
