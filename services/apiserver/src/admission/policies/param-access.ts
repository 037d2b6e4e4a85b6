import {
  ADMINISTRATORS,
  equalJson,
  type FieldError,
  forbidden,
  type KubeObject,
  type ParamKind,
  type ParamRef,
  parseApiVersion,
  StatusError,
} from '@gantry/objects';
import type { User } from '../../auth/user.ts';
import type { Access, AdmissionCheck, AdmissionReader, AdmissionRequest } from '../check/admission-check.ts';

const GROUP = 'admissionregistration.k8s.io';
const POLICIES: ReadonlySet<string> = new Set(['validatingadmissionpolicies', 'mutatingadmissionpolicies']);
/** The resource of the policies of each kind of binding. */
const BINDINGS: Readonly<Record<string, string>> = {
  validatingadmissionpolicybindings: 'validatingadmissionpolicies',
  mutatingadmissionpolicybindings: 'mutatingadmissionpolicies',
};
const EVERYTHING = 'permission for all groups, versions and resources';

type Policy = KubeObject & { spec?: { paramKind?: ParamKind } };
type Binding = KubeObject & { spec?: { policyName?: string; paramRef?: ParamRef } };

/** Policies and bindings read parameters for all users, so their author must be allowed to read the parameters. */
export function paramAccess(access: Access): AdmissionCheck {
  return {
    name: 'ParamAccess',
    validate: async (request, reader) => {
      const { operation, definition, subresource, user, object, name } = request;
      if ((operation !== 'create' && operation !== 'update') || subresource !== '' || definition.group !== GROUP)
        return;
      if (user.groups.includes(ADMINISTRATORS)) return;
      const error = POLICIES.has(definition.resource)
        ? ofPolicy(request, reader, access)
        : await ofBinding(request, reader, access);
      if (error !== undefined) {
        throw StatusError.invalid(GROUP, definition.kind, object.metadata.name ?? name, [error]);
      }
    },
  };
}

function ofPolicy(
  { object, old, user }: AdmissionRequest,
  reader: AdmissionReader,
  access: Access,
): FieldError | undefined {
  const { spec }: Policy = object;
  const before: Policy | undefined = old;
  const kind = spec?.paramKind;
  if (kind === undefined || equalJson(kind, before?.spec?.paramKind ?? null)) return undefined;
  const { definition } = resourceOf(kind, reader);
  const target = { definition, namespace: '*', name: '*', subresource: '' };
  if (access.decide(user, { verb: 'get', target, object: undefined, fieldSelector: '' }).allowed) return undefined;
  const names = `(kind=${kind.kind ?? ''}, apiVersion=${kind.apiVersion ?? ''})`;
  const why = `user ${formatUser(user)} must have "get" permission on all objects of the referenced paramKind ${names}`;
  return forbidden('spec.paramKind', why);
}

async function ofBinding(
  { definition, object, old, user }: AdmissionRequest,
  reader: AdmissionReader,
  access: Access,
): Promise<FieldError | undefined> {
  const bound = BINDINGS[definition.resource];
  const { spec }: Binding = object;
  const before: Binding | undefined = old;
  const ref = spec?.paramRef;
  if (bound === undefined || ref === undefined) return undefined;
  const policyName = spec?.policyName ?? '';
  if (equalJson(ref, before?.spec?.paramRef ?? null) && before?.spec?.policyName === policyName) return undefined;
  const policy = await reader.find<Policy>({ group: GROUP, version: 'v1', resource: bound }, '', policyName);
  const kind = policy?.spec?.paramKind;
  const resolved = kind === undefined ? undefined : resourceOf(kind, reader);
  const verb = (ref.name ?? '') === '' ? 'list' : 'get';
  const target = {
    definition: resolved?.definition ?? { group: '*', resource: '*' },
    namespace: ref.namespace ?? '',
    name: ref.name ?? '',
    subresource: '',
  };
  if (access.decide(user, { verb, target, object: undefined, fieldSelector: '' }).allowed) return undefined;
  const who = `user ${formatUser(user)} does not have "${verb}"`;
  if (policy === undefined) {
    const what = `unable to get policy ${policyName} to determine minimum required permissions`;
    return forbidden('spec.paramRef', `${what} and ${who} ${EVERYTHING}`);
  }
  if (resolved?.known === false) {
    const what = `unable to resolve paramKind &ParamKind{APIVersion:${kind?.apiVersion ?? ''},Kind:${kind?.kind ?? ''},}`;
    return forbidden('spec.paramRef', `${what} to determine minimum required permissions and ${who} ${EVERYTHING}`);
  }
  return forbidden('spec.paramRef', `${who} permission on the object referenced by paramRef`);
}

/** The resource of a kind; all resources of its group if the kind is unknown. */
function resourceOf({ apiVersion = '', kind = '' }: ParamKind, { served }: AdmissionReader) {
  const { group, version } = parseApiVersion(apiVersion);
  const found = served.findKind(group, version, kind);
  return { definition: { group, resource: found?.resource ?? '*' }, known: found !== undefined };
}

/** Formats a user like Go. */
function formatUser({ name, uid, groups, extra }: User): string {
  const entries = Object.entries(extra).sort(([a], [b]) => (a < b ? -1 : 1));
  const printed = entries.map(([key, values]) => `${key}:[${values.join(' ')}]`).join(' ');
  return `&{${name} ${uid} [${groups.join(' ')}] map[${printed}]}`;
}
