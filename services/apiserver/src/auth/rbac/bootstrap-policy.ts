import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, Subject } from '@gantry/objects';
import { COMPONENT_ROLES } from './component-roles.ts';
import { CONTROLLER_ROLES } from './controller-roles.ts';
import { parseRule, type RoleTable } from './rules.ts';
import { USER_ROLES } from './user-roles.ts';

const GROUP = 'rbac.authorization.k8s.io';
const API_VERSION = `${GROUP}/v1`;
const AGGREGATE = 'rbac.authorization.k8s.io/aggregate-to-';

/** Annotation of default roles and bindings. Unless it is "false", each start adds their missing rules or subjects. */
export const RBAC_AUTO_UPDATE = 'rbac.authorization.kubernetes.io/autoupdate';

function metadataOf(name: string, namespace?: string, labels: Readonly<Record<string, string>> = {}): Role['metadata'] {
  return {
    name,
    namespace,
    labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
    annotations: { [RBAC_AUTO_UPDATE]: 'true' },
  };
}

function clusterRole(name: string, rules: PolicyRule[], labels?: Readonly<Record<string, string>>): ClusterRole {
  return { apiVersion: API_VERSION, kind: 'ClusterRole', metadata: metadataOf(name, undefined, labels), rules };
}

function fromTable(table: RoleTable, prefix = ''): ClusterRole[] {
  return Object.entries(table).map(([name, lines]) => {
    const [, aggregated] = /^system:aggregate-to-(.+)$/.exec(name) ?? [];
    const labels = aggregated === undefined ? {} : { [`${AGGREGATE}${aggregated}`]: 'true' };
    return clusterRole(`${prefix}${name}`, lines.map(parseRule), labels);
  });
}

/** A role that aggregates the rules of all roles with its label. `partOf` is the role into which it is aggregated itself. */
function aggregatedRole(name: string, partOf?: string): ClusterRole {
  const { rules: _, ...role } = clusterRole(
    name,
    [],
    partOf === undefined ? {} : { [`${AGGREGATE}${partOf}`]: 'true' },
  );
  return { ...role, aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [`${AGGREGATE}${name}`]: 'true' } }] } };
}

/** The default ClusterRoles. */
export function bootstrapClusterRoles(): readonly ClusterRole[] {
  return [
    aggregatedRole('admin'),
    aggregatedRole('edit', 'admin'),
    aggregatedRole('view', 'edit'),
    ...fromTable(USER_ROLES),
    ...fromTable(COMPONENT_ROLES),
    ...fromTable(CONTROLLER_ROLES, 'system:controller:'),
  ];
}

function user(name: string): Subject {
  return { kind: 'User', apiGroup: GROUP, name };
}

function group(name: string): Subject {
  return { kind: 'Group', apiGroup: GROUP, name };
}

function account(name: string): Subject {
  return { kind: 'ServiceAccount', namespace: 'kube-system', name };
}

const EVERYBODY = [group('system:authenticated'), group('system:unauthenticated')];

/** The subjects of each role. The role of nodes has none, since the rights of a node depend on its pods. */
const GIVEN: Readonly<Record<string, readonly Subject[]>> = {
  'cluster-admin': [group('system:masters')],
  'system:basic-user': [group('system:authenticated')],
  'system:discovery': [group('system:authenticated')],
  'system:kube-controller-manager': [user('system:kube-controller-manager')],
  'system:kube-dns': [account('kube-dns')],
  'system:kube-scheduler': [user('system:kube-scheduler')],
  'system:monitoring': [group('system:monitoring')],
  'system:node': [],
  'system:node-proxier': [user('system:kube-proxy')],
  'system:public-info-viewer': EVERYBODY,
  'system:service-account-issuer-discovery': [group('system:serviceaccounts')],
  'system:volume-scheduler': [user('system:kube-scheduler')],
};

/** The default ClusterRoleBindings. */
export function bootstrapClusterRoleBindings(): readonly ClusterRoleBinding[] {
  const controllers = Object.keys(CONTROLLER_ROLES);
  const given = [
    ...Object.entries(GIVEN),
    ...controllers.map((name) => [`system:controller:${name}`, [account(name)]] as const),
  ];
  return given.map(([name, subjects]) => clusterRoleBinding(name, subjects));
}

/** The role and binding for served trust bundles: every service account may read them, since pods mount them. */
export function trustBundleDiscovery(): { readonly role: ClusterRole; readonly binding: ClusterRoleBinding } {
  const name = 'system:cluster-trust-bundle-discovery';
  return {
    role: clusterRole(name, [parseRule('get,list,watch certificates.k8s.io clustertrustbundles')]),
    binding: clusterRoleBinding(name, [group('system:serviceaccounts')]),
  };
}

function clusterRoleBinding(name: string, subjects: readonly Subject[]): ClusterRoleBinding {
  return {
    apiVersion: API_VERSION,
    kind: 'ClusterRoleBinding',
    metadata: metadataOf(name),
    roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name },
    ...(subjects.length === 0 ? {} : { subjects: [...subjects] }),
  };
}

const LEADER = 'create,get,list,update,watch coordination.k8s.io';
const LEADER_LOCKING = [`${LEADER} leases`, `${LEADER} leasecandidates`];
const EVENTS = 'create,patch,update core,events.k8s.io events';

/** A role in a namespace with its subjects. `binding` is the name of the binding; it defaults to the name of the role. */
interface Local {
  readonly namespace: string;
  readonly name: string;
  readonly rules: readonly string[];
  readonly subjects: readonly Subject[];
  readonly binding?: string;
}

const LOCAL: readonly Local[] = [
  {
    namespace: 'kube-public',
    name: 'system:controller:bootstrap-signer',
    rules: ['get,list,watch core configmaps', 'update core configmaps cluster-info', EVENTS],
    subjects: [account('bootstrap-signer')],
  },
  {
    namespace: 'kube-system',
    name: 'extension-apiserver-authentication-reader',
    rules: ['get,list,watch core configmaps extension-apiserver-authentication'],
    subjects: [user('system:kube-controller-manager'), user('system:kube-scheduler')],
    binding: 'system::extension-apiserver-authentication-reader',
  },
  {
    namespace: 'kube-system',
    name: 'system::leader-locking-kube-controller-manager',
    rules: LEADER_LOCKING,
    subjects: [
      user('system:kube-controller-manager'),
      account('kube-controller-manager'),
      account('leader-election-controller'),
    ],
  },
  {
    namespace: 'kube-system',
    name: 'system::leader-locking-kube-scheduler',
    rules: LEADER_LOCKING,
    subjects: [user('system:kube-scheduler'), account('kube-scheduler')],
  },
  {
    namespace: 'kube-system',
    name: 'system:controller:bootstrap-signer',
    rules: ['get,list,watch core secrets'],
    subjects: [account('bootstrap-signer')],
  },
  {
    namespace: 'kube-system',
    name: 'system:controller:cloud-provider',
    rules: ['create,get,list,watch core configmaps'],
    subjects: [account('cloud-provider')],
  },
  {
    namespace: 'kube-system',
    name: 'system:controller:token-cleaner',
    rules: ['delete,get,list,watch core secrets', EVENTS],
    subjects: [account('token-cleaner')],
  },
];

/** The default Roles. */
export function bootstrapRoles(): readonly Role[] {
  return LOCAL.map(({ namespace, name, rules }) => ({
    apiVersion: API_VERSION,
    kind: 'Role',
    metadata: metadataOf(name, namespace),
    rules: rules.map(parseRule),
  }));
}

/** The default RoleBindings. */
export function bootstrapRoleBindings(): readonly RoleBinding[] {
  return LOCAL.map(({ namespace, name, subjects, binding = name }) => ({
    apiVersion: API_VERSION,
    kind: 'RoleBinding',
    metadata: metadataOf(binding, namespace),
    roleRef: { apiGroup: GROUP, kind: 'Role', name },
    subjects: [...subjects],
  }));
}
