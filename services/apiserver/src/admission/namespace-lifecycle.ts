import { type GroupResource, type Namespace, NAMESPACES, StatusError } from '@gantry/objects';
import type { AdmissionCheck } from './check/admission-check.ts';
import { shownName } from './check/refuse.ts';

const IMMORTAL: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);

/** Rejects creates in a missing or terminating namespace, and the deletion of three namespaces. */
export const namespaceLifecycle: AdmissionCheck = {
  name: 'NamespaceLifecycle',
  mutate: async (request, reader) => {
    const { operation, definition, namespace, name, subresource } = request;
    const isNamespace = definition.group === '' && definition.resource === 'namespaces';
    if (isNamespace && operation === 'delete' && IMMORTAL.has(name)) {
      throw StatusError.forbidden(NAMESPACES, name, 'this namespace may not be deleted');
    }
    if (!definition.namespaced || operation !== 'create' || subresource !== '' || !definition.stored) return;
    const found = await reader.find<Namespace>(NAMESPACES, '', namespace);
    requireActive(found, namespace, definition, shownName(request));
  },
};

/** Throws when the namespace of a new object is missing or terminating. */
export function requireActive(
  found: Namespace | undefined,
  namespace: string,
  of: GroupResource,
  name: string,
): asserts found is Namespace {
  if (found === undefined) throw StatusError.notFound(NAMESPACES, namespace);
  if (found.metadata.deletionTimestamp === undefined && found.status?.phase !== 'Terminating') return;
  throw terminating({ group: of.group, resource: of.resource }, name, namespace);
}

function terminating(of: { group: string; resource: string }, name: string, namespace: string): StatusError {
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const plain = StatusError.forbidden(of, name, why);
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${namespace} is being terminated`,
    field: 'metadata.namespace',
  };
  return new StatusError('Forbidden', plain.message, { details: { ...plain.details, causes: [cause] } });
}
