import type { ResourceDefinition } from '@gantry/apimachinery';
import {
  type KubeObject,
  type LabelSelector,
  labelSelectorFrom,
  type NamedRuleWithOperations,
  type Namespace,
  NAMESPACES,
} from '@gantry/objects';
import type { AdmissionReader, AdmissionRequest, ServedResources } from './admission-check.ts';
import { resourcePrefix } from '../../cache/index.ts';

/** Other versions and groups in which the objects of a resource are also served. */
function equivalentsOf(
  definition: ResourceDefinition,
  { definitions }: ServedResources,
): readonly ResourceDefinition[] {
  const prefix = resourcePrefix(definition);
  return definitions.filter((other) => other !== definition && other.stored && resourcePrefix(other) === prefix);
}

/** Converts an object to another version. Returns the object itself if both versions are the same. */
export async function convertObject(
  object: KubeObject,
  from: ResourceDefinition,
  to: ResourceDefinition,
): Promise<KubeObject> {
  if (from === to) return object;
  const stored = (await (from.storage?.remote ?? from.storage)?.toStored(object)) ?? object;
  const { storage } = to;
  if (storage === undefined) return stored;
  if (storage.remote === undefined) return storage.fromStored(stored);
  const [shown] = await storage.remote.fromStored([stored]);
  return shown ?? stored;
}

const CONFIGURATIONS = 'admissionregistration.k8s.io';

/** The rules that select the requests of a webhook or policy. */
export interface Matching {
  readonly rules?: readonly NamedRuleWithOperations[] | undefined;
  readonly matchPolicy?: string | undefined;
  readonly namespaceSelector?: LabelSelector | undefined;
  readonly objectSelector?: LabelSelector | undefined;
}

/** Whether a request is exempt from webhooks and policies. Their own configurations are exempt, so that a mistake can be corrected. */
export function isExempt({ definition }: AdmissionRequest): boolean {
  return definition.group === CONFIGURATIONS;
}

/** The namespace of a request. A Namespace object belongs to itself. */
export function namespaceOf(request: AdmissionRequest): string {
  const { definition, namespace, name } = request;
  return definition.group === '' && definition.resource === 'namespaces' ? name : namespace;
}

/** The version that a rule names, if a rule matches the request; else undefined. */
export function matchRules(
  request: AdmissionRequest,
  matching: Matching,
  served: ServedResources,
): ResourceDefinition | undefined {
  const { definition } = request;
  const rules = matching.rules ?? [];
  if (rules.some((rule) => meets(rule, request, definition))) return definition;
  if (matching.matchPolicy === 'Exact') return undefined;
  const others = equivalentsOf(definition, served);
  for (const rule of rules) {
    const found = others.find((other) => meets(rule, request, other));
    if (found !== undefined) return found;
  }
  return undefined;
}

function meets(rule: NamedRuleWithOperations, request: AdmissionRequest, as: ResourceDefinition): boolean {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], resourceNames = [] } = rule;
  const has = (list: readonly string[], value: string) => list.includes('*') || list.includes(value);
  if (!isInScope(rule.scope, request)) return false;
  if (!has(operations, request.operation.toUpperCase())) return false;
  if (!has(apiGroups, as.group) || !has(apiVersions, as.version)) return false;
  if (resourceNames.length > 0 && !resourceNames.includes(request.name)) return false;
  return resources.some((resource) => {
    const [whole = '', part = ''] = resource.split(/\/(.*)/s);
    return (whole === '*' || whole === as.resource) && (part === '*' || part === request.subresource);
  });
}

function isInScope(scope: string | undefined, { definition }: AdmissionRequest): boolean {
  if (scope === 'Namespaced') return definition.namespaced;
  return scope !== 'Cluster' || !definition.namespaced;
}

/** Whether the selector matches the labels of the request's namespace. Cluster-scoped requests match, except those of Namespaces. */
export async function matchNamespace(
  selector: LabelSelector | undefined,
  request: AdmissionRequest,
  reader: AdmissionReader,
): Promise<boolean> {
  if (selector === undefined || selectsAll(selector)) return true;
  const { definition, operation, object, subresource } = request;
  const isNamespace = definition.group === '' && definition.resource === 'namespaces';
  if (!definition.namespaced && !isNamespace) return true;
  const own = isNamespace && subresource === '' && (operation === 'create' || operation === 'update');
  const found = own ? object : await reader.find<Namespace>(NAMESPACES, '', namespaceOf(request));
  return found !== undefined && labelSelectorFrom(selector).matches(found.metadata.labels);
}

/** Whether the selector matches the new or the old labels of the object. */
export function matchObject(selector: LabelSelector | undefined, request: AdmissionRequest): boolean {
  if (selector === undefined || selectsAll(selector)) return true;
  const parsed = labelSelectorFrom(selector);
  const { operation, object, old } = request;
  const shown = operation === 'delete' ? [old] : [object, old];
  return shown.some((one) => one?.metadata !== undefined && parsed.matches(one.metadata.labels));
}

function selectsAll({ matchLabels, matchExpressions }: LabelSelector): boolean {
  return Object.keys(matchLabels ?? {}).length + (matchExpressions ?? []).length === 0;
}
