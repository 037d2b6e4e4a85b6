import { type CertificateSigningRequest, keyOf, type Node, type ObjectKey } from '@gantry/api';
import { type ControllerContext, type ControllerSpec, type Result, watchSelf } from '@gantry/controller-runtime';
import type { CertificateAuthority } from '../../certificate-authority.ts';
import { ignoreNotFound } from '../ignore-not-found.ts';
import { CERTIFICATE_REQUESTS, NODES } from '../resources.ts';
import { type Action, planCertificateRequest, type RequestedCertificate } from './plan.ts';

export interface CsrSigningOptions {
  readonly authority: CertificateAuthority;
  /** The address of `default/kubernetes`, which the apiserver's certificate carries. */
  readonly firstServiceAddress: string;
}

/** Approves, signs or denies the requests of agents and fixed services, and removes old ones. */
export function createCsrSigningController(options: CsrSigningOptions): ControllerSpec {
  return {
    name: 'csr-signing',
    eventSource: 'csr-signing',
    watches: [watchSelf(CERTIFICATE_REQUESTS)],
    reconcile: (key, context, signal) => reconcile(options, key, context, signal),
  };
}

async function reconcile(
  { authority, firstServiceAddress }: CsrSigningOptions,
  key: ObjectKey,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<Result> {
  const request = context.cache.get<CertificateSigningRequest>(CERTIFICATE_REQUESTS, key);
  if (request === undefined) return {};
  const pem = Buffer.from(request.spec?.request ?? '', 'base64').toString('utf8');
  const requested = await authority.parse(pem);
  const node = nodeNamed(requested, context);
  const now = context.clock.now();
  const plan = planCertificateRequest({ request, requested, node }, { firstServiceAddress }, now);
  let current = request;
  for (const action of plan.actions) {
    if (action.kind === 'sign') {
      if (typeof requested === 'string') break;
      const terms = { requested, usages: action.usages, seconds: action.seconds };
      const certificate = await authority.sign(pem, terms, now);
      const status = { ...current.status, certificate: Buffer.from(certificate).toString('base64') };
      current = await writePart({ ...current, status }, 'status', context, signal);
    } else current = await answer(current, action, context, signal);
  }
  return plan.lookAgainAt === undefined ? {} : { requeueAfterMs: Math.max(1000, plan.lookAgainAt - now) };
}

function nodeNamed(requested: RequestedCertificate | string, { cache }: ControllerContext): Node | undefined {
  if (typeof requested === 'string' || !requested.commonName.startsWith('system:node:')) return undefined;
  return cache.get<Node>(NODES, { namespace: '', name: requested.commonName.slice('system:node:'.length) });
}

async function answer(
  request: CertificateSigningRequest,
  action: Exclude<Action, { kind: 'sign' }>,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<CertificateSigningRequest> {
  if (action.kind === 'delete') {
    const { uid } = request.metadata;
    const options = { preconditions: uid === undefined ? {} : { uid } };
    await ignoreNotFound(
      context.client.write({ verb: 'delete', resource: CERTIFICATE_REQUESTS, key: keyOf(request), options }, signal),
    );
    return request;
  }
  const conditions = [...(request.status?.conditions ?? []), action.condition];
  const subresource = action.kind === 'fail' ? 'status' : 'approval';
  return writePart({ ...request, status: { ...request.status, conditions } }, subresource, context, signal);
}

function writePart(
  object: CertificateSigningRequest,
  subresource: 'approval' | 'status',
  context: ControllerContext,
  signal: AbortSignal,
): Promise<CertificateSigningRequest> {
  return context.client.write<CertificateSigningRequest>(
    { verb: 'update', resource: CERTIFICATE_REQUESTS, key: keyOf(object), object, subresource },
    signal,
  );
}
