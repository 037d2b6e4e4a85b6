import type { FlowSchema, FlowcontrolSubject, NonResourcePolicyRule, ResourcePolicyRule } from '@gantry/objects';
import type { User } from '../auth/user.ts';

/** The attributes of a request that flow schemas match. */
export type FlowRequest = { readonly user: User } & (
  | {
      readonly kind: 'resource';
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      readonly subresource: string;
      /** '' for cluster scope and for all namespaces. */
      readonly namespace: string;
    }
  | { readonly kind: 'path'; readonly verb: string; readonly path: string }
);

/** A flow schema, compiled for matching. */
export interface CompiledSchema {
  readonly name: string;
  readonly uid: string;
  readonly level: string;
  /** The flow distinguisher of a request. Requests with the same value are one flow. */
  readonly flowOf: (request: FlowRequest) => string;
}

interface CompiledRule {
  readonly schema: CompiledSchema;
  readonly subjects: readonly FlowcontrolSubject[];
  readonly resources: readonly ResourcePolicyRule[];
  readonly paths: readonly NonResourcePolicyRule[];
}

/** Maximum number of users whose rules are cached. */
const MAX_USERS = 4096;

/**
 * Flow schemas in the order of precedence, then of name, as in Kubernetes. The rules of each user are cached.
 */
export class FlowSchemas {
  readonly #rules: readonly CompiledRule[];
  readonly #byUser = new Map<string, readonly CompiledRule[]>();

  constructor(schemas: readonly FlowSchema[]) {
    const ordered = schemas.toSorted(
      (a, b) =>
        (a.spec?.matchingPrecedence ?? 0) - (b.spec?.matchingPrecedence ?? 0) ||
        ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
    );
    this.#rules = ordered.flatMap(compile);
  }

  /** The first schema that matches; undefined when none does. The catch-all schema matches every request. */
  match(request: FlowRequest): CompiledSchema | undefined {
    const rules = this.#rulesOf(request.user);
    const matches = request.kind === 'resource' ? matchesResources : matchesPath;
    return rules.find((rule) => matches(rule, request as never))?.schema;
  }

  #rulesOf(user: User): readonly CompiledRule[] {
    const key = `${user.name}\n${user.groups.join('\n')}`;
    const known = this.#byUser.get(key);
    if (known !== undefined) return known;
    const rules = this.#rules.filter(({ subjects }) => subjects.some((subject) => isSubject(user, subject)));
    if (this.#byUser.size >= MAX_USERS) this.#byUser.clear();
    this.#byUser.set(key, rules);
    return rules;
  }
}

function compile({ metadata, spec }: FlowSchema): CompiledRule[] {
  const schema: CompiledSchema = {
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    level: spec?.priorityLevelConfiguration.name ?? '',
    flowOf: flowOf(spec?.distinguisherMethod?.type),
  };
  return (spec?.rules ?? []).map(({ subjects, resourceRules = [], nonResourceRules = [] }) => ({
    schema,
    subjects,
    resources: resourceRules,
    paths: nonResourceRules,
  }));
}

function flowOf(method: string | undefined): CompiledSchema['flowOf'] {
  if (method === 'ByUser') return ({ user }) => user.name;
  if (method === 'ByNamespace') return (request) => (request.kind === 'resource' ? request.namespace : '');
  return () => '';
}

function isSubject({ name, groups }: User, subject: FlowcontrolSubject): boolean {
  switch (subject.kind) {
    case 'User':
      return subject.user?.name === '*' || subject.user?.name === name;
    case 'Group':
      return subject.group?.name === '*' || groups.includes(subject.group?.name ?? '');
    case 'ServiceAccount': {
      const { namespace = '', name: account = '' } = subject.serviceAccount ?? {};
      const prefix = `system:serviceaccount:${namespace}:`;
      return account === '*' ? name.startsWith(prefix) : name === prefix + account;
    }
    default:
      return false;
  }
}

function matchesResources(
  { resources }: CompiledRule,
  { verb, group, resource, subresource, namespace }: Extract<FlowRequest, { kind: 'resource' }>,
): boolean {
  const full = subresource === '' ? resource : `${resource}/${subresource}`;
  return resources.some(
    (rule) =>
      includes(rule.verbs, verb) &&
      includes(rule.apiGroups, group) &&
      includes(rule.resources, full) &&
      (namespace === '' ? rule.clusterScope === true : includes(rule.namespaces ?? [], namespace)),
  );
}

function matchesPath({ paths }: CompiledRule, { verb, path }: Extract<FlowRequest, { kind: 'path' }>): boolean {
  return paths.some(
    (rule) => includes(rule.verbs, verb) && rule.nonResourceURLs.some((pattern) => matchesPattern(path, pattern)),
  );
}

/** Whether a path matches a pattern. `*` at the end of a pattern matches any suffix. */
function matchesPattern(path: string, pattern: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}

function includes(list: readonly string[], value: string): boolean {
  return list.includes('*') || list.includes(value);
}
