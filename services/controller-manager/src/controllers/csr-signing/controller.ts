import { ignoreNotFound, type ObjectClient } from '@gantry/client';
import { type ControllerContext, type ControllerSpec, resultOf, watchSelf } from '@gantry/controller-runtime';
import { CERTIFICATE_SIGNING_REQUESTS, type CertificateSigningRequest, keyOf, type Node, NODES } from '@gantry/objects';
import type { CertificateAuthority } from './certificate-authority.shell.ts';
import {
  type Action,
  type Authority,
  nodeNameOf,
  planCertificateRequest,
  type RequestedCertificate,
  type SignerSettings,
} from './plan.ts';

export interface CsrSigningOptions {
  readonly authorities: Readonly<Record<Authority, CertificateAuthority>>;
  readonly signers: SignerSettings;
}

/** Approves, signs or denies the requests for our own signers, and deletes old ones. */
export function createCsrSigningController({ authorities, signers }: CsrSigningOptions): ControllerSpec {
  return {
    name: 'csr-signing',
    eventSource: 'csr-signing-controller',
    watches: [watchSelf(CERTIFICATE_SIGNING_REQUESTS)],
    reconcile: async (key, context, signal) => {
      const { cache, client, clock } = context;
      const request = cache.get(CERTIFICATE_SIGNING_REQUESTS, key);
      if (request === undefined) return {};
      const pem = Buffer.from(request.spec?.request ?? '', 'base64').toString('utf8');
      const requested = await authorities.cluster.parse(pem);
      const now = clock.now();
      const plan = planCertificateRequest({ request, requested, node: findNode(requested, context) }, signers, now);
      const sign = async ({ by, usages, seconds }: ActionOf<'sign'>): Promise<string | undefined> =>
        typeof requested === 'string' ? undefined : authorities[by].sign(pem, { requested, usages, seconds }, now);
      let current = request;
      for (const action of plan.actions) current = await execute(current, action, sign, client, signal);
      return resultOf(plan, clock);
    },
  };
}

type ActionOf<K extends Action['kind']> = Extract<Action, { kind: K }>;

function findNode(requested: RequestedCertificate | string, { cache }: ControllerContext): Node | undefined {
  const name = nodeNameOf(requested);
  return name === undefined ? undefined : cache.get(NODES, { namespace: '', name });
}

/** Each write is conditional on the version from the previous one. */
async function execute(
  request: CertificateSigningRequest,
  action: Action,
  sign: (action: ActionOf<'sign'>) => Promise<string | undefined>,
  client: ObjectClient,
  signal: AbortSignal,
): Promise<CertificateSigningRequest> {
  const { status = {}, metadata } = request;
  switch (action.kind) {
    case 'delete':
      await ignoreNotFound(client.delete(CERTIFICATE_SIGNING_REQUESTS, keyOf(request), { uid: metadata.uid }, signal));
      return request;
    case 'sign': {
      const signed = await sign(action);
      if (signed === undefined) return request;
      const certificate = Buffer.from(signed).toString('base64');
      const object = { ...request, status: { ...status, certificate } };
      return await client.updateStatus(CERTIFICATE_SIGNING_REQUESTS, object, signal);
    }
    case 'approve':
    case 'deny':
    case 'fail': {
      const object = {
        ...request,
        status: { ...status, conditions: [...(status.conditions ?? []), action.condition] },
      };
      const subresource = action.kind === 'fail' ? 'status' : 'approval';
      return await client.updateSubresource(CERTIFICATE_SIGNING_REQUESTS, subresource, object, signal);
    }
  }
}
