import {
  MUTATING_WEBHOOK_CONFIGURATIONS,
  type MutatingWebhook,
  type MutatingWebhookConfiguration,
} from '@gantry/objects';
import { createAuthority, issueCertificate } from '../../pki/certificates.ts';
import { CHAOS_LABEL } from '../engine.ts';
import type { FaultKind, Scene } from '../fault.ts';
import { helperName } from './process.ts';

const PORT = 8443;
const CREATE_MS = 30_000;

/**
 * An HTTPS server in a container beside the cluster, on the network of the API servers. `MODE`: `slow` allows after four seconds; `down` closes
 * each connection; `lying` gives by turns no JSON, the answer to another request, a patch that no object can take, and a 500.
 */
const SERVER = `
const { CERT: cert, KEY: key, MODE: mode } = process.env;
const review = (response) => JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response });
const patch = Buffer.from(JSON.stringify([{ op: 'replace', path: '/metadata/uid/x', value: {} }])).toString('base64');
const lies = [
  (uid, response) => response.end('yes'),
  (uid, response) => response.end(review({ uid: 'another', allowed: true })),
  (uid, response) => response.end(review({ uid, allowed: true, patchType: 'JSONPatch', patch })),
  (uid, response) => { response.statusCode = 500; response.end('no'); },
];
let turn = 0;
const server = require('node:https').createServer({ cert, key }, (request, response) => {
  let body = '';
  request.on('data', (part) => (body += part)).on('end', () => {
    const { uid } = JSON.parse(body).request;
    response.setHeader('content-type', 'application/json');
    if (mode === 'lying') lies[turn++ % lies.length](uid, response);
    else setTimeout(() => response.end(review({ uid, allowed: true })), 4000);
  });
});
if (mode === 'down') server.on('connection', (socket) => socket.destroy());
server.listen(${PORT}, '0.0.0.0');
process.on('SIGTERM', () => process.exit(0));
`;

type Mode = 'slow' | 'down' | 'lying';

/** An admission webhook that concerns the workloads' namespace alone. */
export const WEBHOOK_FAULTS: readonly FaultKind[] = [
  kindOf(
    'slow',
    "A webhook for the workloads' objects responds after four seconds; writes wait for three, and go on without it.",
  ),
  kindOf('down', "A webhook for the workloads' objects closes each connection, and writes that need it are refused."),
  kindOf(
    'lying',
    "A webhook for the workloads' objects gives answers that are none: no JSON, another request's, a patch that does not fit, errors.",
  ),
];

function kindOf(mode: Mode, what: string): FaultKind {
  const strike = (scene: Scene) => serve(scene, mode);
  return { kind: `webhook-${mode}`, what, targets: ['api'], durationMs: [5_000, 15_000], weight: 1, strike };
}

async function serve(scene: Scene, mode: Mode): Promise<string> {
  const { engine, api, undoLater } = scene;
  const { clusterId, clock, image, namespace } = engine.options;
  const name = helperName(scene);
  const authority = await createAuthority('chaos', clock.now());
  const names = { commonName: name, organisations: [], dnsNames: [name], ipAddresses: [] };
  const { certificate, key } = await issueCertificate(authority, { ...names, usages: ['server'] }, clock.now());
  // The configuration goes first: without it nobody asks the server.
  await undoLater([
    { undo: 'remove-helper', name },
    { undo: 'remove-webhook', name },
  ]);
  const rights = ['--label', `${CHAOS_LABEL}=${clusterId}`, '--cap-drop', 'ALL', '--network', `${clusterId}-control`];
  const environment = [`MODE=${mode}`, `CERT=${certificate}`, `KEY=${key}`].flatMap((text) => ['-e', text]);
  await engine.docker(['run', '-d', '--rm', '--name', name, ...rights, ...environment, image, 'node', '-e', SERVER]);
  const caBundle = Buffer.from(authority.certificate).toString('base64');
  const configuration = configurationOf(name, { mode, caBundle, namespace });
  using client = api();
  await client.create(MUTATING_WEBHOOK_CONFIGURATIONS, configuration, AbortSignal.timeout(CREATE_MS));
  return `${mode}, for writes in ${namespace}`;
}

/** `slow` and `lying` are ignored when they fail; `down` is required. A patch that does not fit refuses the write in any case. */
function configurationOf(
  name: string,
  { mode, caBundle, namespace }: { readonly mode: Mode; readonly caBundle: string; readonly namespace: string },
): MutatingWebhookConfiguration {
  const webhook: MutatingWebhook = {
    name: 'chaos.gantry.dev',
    clientConfig: { url: `https://${name}:${PORT}/`, caBundle },
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    rules: [
      { operations: ['CREATE', 'UPDATE'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], scope: 'Namespaced' },
    ],
    failurePolicy: mode === 'down' ? 'Fail' : 'Ignore',
    sideEffects: 'None',
    timeoutSeconds: 3,
    admissionReviewVersions: ['v1'],
  };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name, labels: { [CHAOS_LABEL]: 'webhook' } },
    webhooks: [webhook],
  };
}
