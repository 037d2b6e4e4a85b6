import { type InformedResource, namespacesOf } from '@gantry/controller-runtime';
import { type KubeObject, LEASES, type ResourceRef, SECRETS } from '@gantry/objects';
import { secretKey, trustingOf, type WebhookOptions, type WebhookPlace } from './webhooks/webhook-options.ts';

type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

/** What a controller may do with the objects of a resource. */
export interface Right {
  readonly resource: ResourceRef;
  /** Such as `status` or `scale`; the objects themselves when absent. */
  readonly subresource?: string;
  /** Server-side apply is `patch`, and `create` for objects that do not exist yet. */
  readonly verbs: readonly Verb[];
}

/** Where an operator runs. */
export interface RolesOptions {
  /** The namespace of its pods and of its Lease. */
  readonly namespace: string;
  /** The name of its account; that of the operator when absent. */
  readonly serviceAccount?: string;
}

/** What of the options of an operator says what it may do. */
interface Granting {
  readonly name: string;
  readonly controllers: readonly {
    readonly watches: readonly { readonly resource: ResourceRef }[];
    readonly rights?: readonly Right[];
  }[];
  readonly caches?: readonly InformedResource[];
  readonly leaderElection?: { readonly name?: string; readonly namespace?: string };
  readonly webhooks?: WebhookOptions;
}

interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** A write whose answer is lost is looked up, so these need `get` too. */
const LOOKED_UP: ReadonlySet<Verb> = new Set(['create', 'delete']);

/**
 * The account of an operator with its least rights, as manifests for `kubectl apply -f -`: to read what it watches, to do what its controllers
 * declare in `rights` (`declare` does that itself), to write Events, and to elect a leader. If all that it watches is in some namespaces
 * (`caches`), its rights are too.
 *
 * @example
 * ```ts
 * const options = { name: 'backups', leaderElection: {}, controllers: [backups] };
 * console.log(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: rolesOf(options, { namespace: 'backups' }) }));
 * ```
 */
export function rolesOf(
  { name, controllers, caches = [], leaderElection, webhooks }: Granting,
  { namespace, serviceAccount = name }: RolesOptions,
): readonly KubeObject[] {
  const watched = [...caches, ...controllers.flatMap(({ watches }) => watches.map(({ resource }) => resource))];
  const namespaces = new Set(
    watched.flatMap(({ group, resource }) =>
      namespacesOf(caches.find((one) => one.group === group && one.resource === resource) ?? {}),
    ),
  );
  const subjects = [{ kind: 'ServiceAccount', name: serviceAccount, namespace }];
  const rules = [
    ...merged([
      ...watched.map((resource): Right => ({ resource, verbs: ['list', 'watch'] })),
      ...controllers.flatMap(({ rights = [] }) => rights),
    ]),
    { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  ];
  const lease = leaderElection?.name ?? name;
  const ofLease = [
    // Creation cannot be restricted to a name.
    { apiGroups: [LEASES.group], resources: [LEASES.resource], verbs: ['create'] },
    { apiGroups: [LEASES.group], resources: [LEASES.resource], resourceNames: [lease], verbs: ['get', 'update'] },
  ];
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: serviceAccount, namespace } },
    ...(namespaces.has('') ? [''] : [...namespaces].sort()).flatMap((of) => granted(name, of, rules, subjects)),
    ...(leaderElection === undefined
      ? []
      : granted(`${name}-leader`, leaderElection.namespace ?? namespace, ofLease, subjects)),
    ...(webhooks === undefined ? [] : webhookRoles({ name, namespace, webhooks }, subjects)),
  ];
}

/** To share a certificate in a Secret, and to write it into the configurations of the webhooks. */
function webhookRoles(place: WebhookPlace, subjects: readonly object[]): readonly KubeObject[] {
  const secrets = { apiGroups: [SECRETS.group], resources: [SECRETS.resource] };
  const ofSecret = [
    // Creation cannot be restricted to a name.
    { ...secrets, verbs: ['create'] },
    { ...secrets, resourceNames: [secretKey(place).name], verbs: ['get', 'update'] },
  ];
  const ofTrusting = trustingOf(place).map(({ resource: { group, resource }, name }) => {
    return { apiGroups: [group], resources: [resource], resourceNames: [name], verbs: ['get', 'patch'] };
  });
  return [
    ...granted(`${place.name}-webhooks`, place.namespace, ofSecret, subjects),
    ...granted(`${place.name}-webhooks`, '', ofTrusting, subjects),
  ];
}

/** The rules of all rights, one for each resource, in the order of their names. */
export function merged(rights: readonly Right[]): readonly PolicyRule[] {
  const verbsOf = new Map<string, { readonly group: string; readonly resource: string; readonly verbs: Set<string> }>();
  for (const { resource: of, subresource, verbs } of rights) {
    const resource = subresource === undefined ? of.resource : `${of.resource}/${subresource}`;
    const id = `${of.group}/${resource}`;
    const known = verbsOf.get(id) ?? { group: of.group, resource, verbs: new Set() };
    for (const verb of verbs) known.verbs.add(verb);
    if (subresource === undefined && verbs.some((verb) => LOOKED_UP.has(verb))) known.verbs.add('get');
    verbsOf.set(id, known);
  }
  return [...verbsOf]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { group, resource, verbs }]) => ({ apiGroups: [group], resources: [resource], verbs: [...verbs].sort() }));
}

/** A role and its binding, in a namespace or, without one, in the cluster. */
function granted(
  name: string,
  namespace: string,
  rules: readonly PolicyRule[],
  subjects: readonly object[],
): readonly KubeObject[] {
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const kind = namespace === '' ? 'ClusterRole' : 'Role';
  const metadata = { name, ...(namespace === '' ? {} : { namespace }) };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name };
  const binding = { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects };
  const role = { apiVersion, kind, metadata, rules };
  return [role, binding];
}
