import { findResource, isReason, type KubeObject } from '@gantry/api';
import { must } from '@gantry/base';
import type { Driver, RequestContext, User } from '../driver.ts';

const CONTROLLER: User = {
  name: 'system:kube-controller-manager-stand-in',
  uid: '',
  groups: ['system:masters', 'system:authenticated'],
  extra: {},
};
const OPTIONS = { dryRun: false, fieldManager: 'kube-controller-manager', fieldValidation: 'Strict' } as const;

/**
 * Gives every namespace its default service account and the root CA, as the controller-manager does, for a development
 * server that runs without one.
 */
export async function runStandInControllers(driver: Driver, ca: string, signal: AbortSignal): Promise<void> {
  const context: RequestContext = { user: CONTROLLER, signal, fence: undefined, warn: () => undefined };
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
  for await (const batch of await driver.watch(context, namespaces, request)) {
    for (const item of batch) {
      if (item.type !== 'ADDED') continue;
      const namespace = item.answer.object.metadata.name ?? '';
      await ensure(driver, context, 'serviceaccounts', namespace, account());
      await ensure(driver, context, 'configmaps', namespace, rootCa(ca));
    }
  }
}

async function ensure(
  driver: Driver,
  context: RequestContext,
  resource: string,
  namespace: string,
  object: KubeObject,
): Promise<void> {
  const definition = must(findResource({ group: '', version: 'v1', resource }), resource);
  const target = { definition, namespace, name: '', subresource: '' };
  const body = { bytes: Buffer.from(JSON.stringify(object)), mediaType: 'application/json' } as const;
  try {
    await driver.create(context, target, body, OPTIONS);
  } catch (error) {
    // The namespace may have gone again meanwhile.
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
