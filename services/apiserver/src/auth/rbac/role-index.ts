import type { ResourceDefinition } from '@gantry/apimachinery';
import { findResource } from '@gantry/kinds';
import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject } from '@gantry/objects';
import { must } from '@gantry/base';
import { type Entry, objectKey, type WatchCache } from '../../cache/index.ts';
import type { User } from '../user.ts';

/** The rules that a binding grants to a user, and a description of the binding; or why it grants none. */
export type Grant = { readonly rules: readonly PolicyRule[]; readonly through: string } | { readonly missing: string };

/** The rules of users, by the stored roles and bindings. */
export interface RoleIndex {
  /** The grants of a user in a namespace, ClusterRoleBindings first. For '', only those of ClusterRoleBindings. */
  grants(user: Pick<User, 'name' | 'groups'>, namespace: string): readonly Grant[];
  /** The rules of the role that a binding in this namespace names; undefined when the role does not exist. */
  rulesOf(roleRef: RoleRef, namespace: string): readonly PolicyRule[] | undefined;
}

type Binding = ClusterRoleBinding | RoleBinding;

/** A binding, indexed by one of its subjects. `order` is its position among all bindings. */
interface Bound {
  readonly order: number;
  readonly binding: Binding;
  readonly subject: Subject;
}

const GROUP = 'rbac.authorization.k8s.io';
const ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;

/** The source of roles and bindings. `list` returns the same array until an object changes. */
export interface RoleSource {
  list(
    resource: 'clusterrolebindings' | 'rolebindings',
  ): readonly { readonly response: Pick<Entry['response'], 'object'> }[];
  get(resource: 'clusterroles' | 'roles', namespace: string, name: string): ClusterRole | Role | undefined;
}

/** The roles and bindings of the watch cache. */
export function createRoleSource(cache: WatchCache): RoleSource {
  const definitionOf = (resource: string): ResourceDefinition =>
    must(findResource({ group: GROUP, version: 'v1', resource }), resource);
  return {
    list: (resource) => cache.resource(definitionOf(resource)).snapshot(),
    get: (resource, namespace, name) => {
      const definition = definitionOf(resource);
      const entry = cache.resource(definition).get(objectKey(definition, namespace, name));
      return entry?.response.object;
    },
  };
}

/** Creates an index of bindings by subject. The index is built again after a change of a binding. */
export function createRoleIndex(source: RoleSource): RoleIndex {
  const clusterWide = new SubjectIndex(() => source.list('clusterrolebindings'));
  const local = new SubjectIndex(() => source.list('rolebindings'));
  const rulesOf: RoleIndex['rulesOf'] = ({ kind, name }, namespace) => {
    const role = kind === 'Role' ? source.get('roles', namespace, name) : source.get('clusterroles', '', name);
    return role === undefined ? undefined : (role.rules ?? []);
  };
  const grant = ({ binding, subject }: Bound, namespace: string): Grant => {
    const { kind, name } = binding.roleRef;
    const rules = rulesOf(binding.roleRef, namespace);
    if (rules !== undefined) {
      return {
        rules,
        // Lazy, since only the binding that grants a right is described. Every request has several other bindings.
        get through() {
          return describe(binding, subject);
        },
      };
    }
    return { missing: `${kind.toLowerCase()}.${GROUP} ${JSON.stringify(name)} not found` };
  };
  return {
    rulesOf,
    grants: (user, namespace) => {
      const keys = keysOf(user);
      const everywhere = clusterWide.find(keys).map((bound) => grant(bound, ''));
      if (namespace === '') return everywhere;
      const here = local.find(keys.map((key) => `${namespace} ${key}`)).map((bound) => grant(bound, namespace));
      return [...everywhere, ...here];
    },
  };
}

type Listed = ReturnType<RoleSource['list']>;

/** Bindings by subject; RoleBindings also by namespace. */
class SubjectIndex {
  readonly #snapshot: () => Listed;
  #seen: Listed | undefined;
  #bySubject = new Map<string, Bound[]>();

  constructor(snapshot: () => Listed) {
    this.#snapshot = snapshot;
  }

  /** The bindings of any of the subjects, each once, in order. */
  find(keys: readonly string[]): readonly Bound[] {
    const entries = this.#snapshot();
    // A snapshot is the same array until something changes.
    if (entries !== this.#seen) this.#index(entries);
    const found = new Map<number, Bound>();
    for (const key of keys) {
      for (const bound of this.#bySubject.get(key) ?? []) if (!found.has(bound.order)) found.set(bound.order, bound);
    }
    return [...found.values()].sort((a, b) => a.order - b.order);
  }

  #index(entries: Listed): void {
    this.#seen = entries;
    this.#bySubject = new Map();
    entries.forEach((entry, order) => {
      const binding = entry.response.object as Binding;
      const { namespace } = binding.metadata;
      for (const subject of binding.subjects ?? []) {
        const key = subjectKey(subject, namespace);
        if (key === undefined) continue;
        const full = namespace === undefined ? key : `${namespace} ${key}`;
        const list = this.#bySubject.get(full);
        const bound = { order, binding, subject };
        if (list === undefined) this.#bySubject.set(full, [bound]);
        else list.push(bound);
      }
    });
  }
}

function subjectKey({ kind, name, namespace = '' }: Subject, own: string | undefined): string | undefined {
  switch (kind) {
    case 'User':
      return `u:${name}`;
    case 'Group':
      return `g:${name}`;
    case 'ServiceAccount': {
      const where = namespace === '' ? (own ?? '') : namespace;
      return where === '' ? undefined : `s:${where}:${name}`;
    }
    default:
      return undefined;
  }
}

function keysOf({ name, groups }: Pick<User, 'name' | 'groups'>): string[] {
  const [, namespace, account] = ACCOUNT.exec(name) ?? [];
  const keys = [`u:${name}`, ...groups.map((group) => `g:${group}`)];
  if (namespace !== undefined && account !== undefined) keys.push(`s:${namespace}:${account}`);
  return keys;
}

function describe(binding: Binding, subject: Subject): string {
  const { kind, metadata, roleRef } = binding;
  const { namespace } = metadata;
  const name = namespace === undefined ? (metadata.name ?? '') : `${metadata.name ?? ''}/${namespace}`;
  const where = subject.namespace ?? namespace ?? '';
  const who = subject.kind === 'ServiceAccount' ? `${subject.name}/${where}` : subject.name;
  const role = `${roleRef.kind} ${JSON.stringify(roleRef.name)}`;
  return `${kind} ${JSON.stringify(name)} of ${role} to ${subject.kind} ${JSON.stringify(who)}`;
}
