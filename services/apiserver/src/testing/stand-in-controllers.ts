import { findResource } from '@gantry/kinds';
import { type KubeObject, isReason } from '@gantry/objects';
import { must } from '@gantry/base';
import { NOT_AUDITED } from '../audit/index.ts';
import { type Registry, type RequestContext, jsonBody } from '../registry/index.ts';
import type { User } from '../auth/user.ts';

const CONTROLLER: User = {
  name: 'system:kube-controller-manager-stand-in',
  uid: '',
  groups: ['system:masters', 'system:authenticated'],
  extra: {},
};
const OPTIONS = { dryRun: false, fieldManager: 'kube-controller-manager', fieldValidation: 'Strict' } as const;

/**
 * Creates the default service account and the root CA ConfigMap in every namespace, as the controller-manager does. For development
 * servers without a controller-manager.
 */
export async function runStandInControllers(registry: Registry, ca: string, signal: AbortSignal): Promise<void> {
  const context: RequestContext = {
    user: CONTROLLER,
    signal,
    fence: undefined,
    warn: () => undefined,
    audit: NOT_AUDITED,
  };
  const request = {
    namespace: '',
    labelSelector: '',
    fieldSelector: '',
    resourceVersion: '',
    resourceVersionMatch: '',
    sendInitialEvents: undefined,
    allowBookmarks: false,
  } as const;
  const namespaces = must(findResource({ group: '', version: 'v1', resource: 'namespaces' }), 'namespaces');
  for await (const batch of await registry.watch(context, namespaces, request)) {
    for (const item of batch) {
      if (item.type !== 'ADDED') continue;
      const namespace = item.response.object.metadata.name ?? '';
      await ensure(registry, context, 'serviceaccounts', namespace, account());
      await ensure(registry, context, 'configmaps', namespace, rootCa(ca));
    }
  }
}

async function ensure(
  registry: Registry,
  context: RequestContext,
  resource: string,
  namespace: string,
  object: KubeObject,
): Promise<void> {
  const definition = must(findResource({ group: '', version: 'v1', resource }), resource);
  const target = { definition, namespace, name: '', subresource: '' };
  const body = jsonBody(object);
  try {
    await registry.create(context, target, body, OPTIONS);
  } catch (error) {
    // The namespace may have been deleted meanwhile.
    if (!isReason(error, 'AlreadyExists') && !isReason(error, 'NotFound') && !isReason(error, 'Forbidden')) throw error;
  }
}

function account(): KubeObject {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
}

function rootCa(ca: string): KubeObject {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'kube-root-ca.crt' },
    data: { 'ca.crt': ca },
  };
  return object;
}
