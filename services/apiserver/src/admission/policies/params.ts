import { type KubeObject, type ParamKind, type ParamRef, labelSelectorFrom, parseApiVersion } from '@gantry/objects';
import type { AdmissionReader } from '../check/admission-check.ts';

/** Parameters that a binding refers to, one evaluation each; or why they cannot be had. */
export type Params = readonly (KubeObject | null)[] | { readonly error: string };

/** Looks up the parameters of a binding for a request in `namespace`. */
export async function collectParams(
  kind: ParamKind | undefined,
  ref: ParamRef | undefined,
  namespace: string,
  reader: AdmissionReader,
): Promise<Params> {
  if (kind === undefined || ref === undefined) return [null];
  const { apiVersion = '', kind: name = '' } = kind;
  const { group, version } = parseApiVersion(apiVersion);
  const definition = reader.served.findKind(group, version, name);
  if (definition === undefined) return { error: `paramKind kind \`${apiVersion}, Kind=${name}\` not known` };
  const { namespace: own = '' } = ref;
  if (!definition.namespaced && own !== '') {
    return { error: 'paramRef.namespace must not be provided for a cluster-scoped `paramKind`' };
  }
  const where = definition.namespaced ? (own === '' ? namespace : own) : '';
  if (definition.namespaced && where === '') {
    return { error: 'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources' };
  }
  const params = await find(
    ref,
    (by) => reader.find(definition, where, by),
    () => reader.list(definition, where),
  );
  if (params.length === 0 && ref.parameterNotFoundAction === 'Deny') {
    return { error: 'no params found for policy binding with `Deny` parameterNotFoundAction' };
  }
  return params;
}

async function find(
  { name = '', selector }: ParamRef,
  get: (name: string) => Promise<KubeObject | undefined>,
  list: () => Promise<readonly KubeObject[]>,
): Promise<readonly KubeObject[]> {
  if (name !== '') {
    const found = await get(name);
    return found === undefined ? [] : [found];
  }
  const parsed = labelSelectorFrom(selector ?? {});
  return (await list()).filter(({ metadata }) => parsed.matches(metadata.labels));
}
