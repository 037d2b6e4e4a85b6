import { must } from '@gantry/base';
import { ADMINISTRATORS, API_SERVERS, FIXED_SERVICES, ownServiceAddresses } from '@gantry/objects';

/** Subject, names and validity of a certificate. */
export interface CertificateSpec {
  readonly commonName: string;
  readonly organisations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly usages: readonly ('client' | 'server')[];
}

/**
 * The authorities of a cluster. Holders of a certificate of one must not pass for those of another: users of the API (`cluster`), servers
 * of agents (`nodes`), members and clients of etcd (`etcd`), the apiserver in front of extension servers (`front-proxy`).
 */
export const AUTHORITIES = ['cluster', 'nodes', 'etcd', 'front-proxy'] as const;
export type AuthorityName = (typeof AUTHORITIES)[number];

/** A folder that one service mounts, and its certificate. */
export interface Role {
  /** Name of the folder in the job's root; each is a volume. */
  readonly folder: string;
  readonly certificate: CertificateSpec;
  /** The issuer. */
  readonly authority: AuthorityName;
  /** The authority whose certificate is the folder's `ca.crt`: that of the peers. */
  readonly trusts: AuthorityName;
  /** User id of the service, which renews the folder's files. */
  readonly owner: number;
}

/**
 * The user of services that do not need root. Neither this nor etcd's is an id that images or distributions commonly use, such as
 * 1000, 65532 or 65534: a pod of that id would own the files of a service. Both are below 65536, so that engines that remap users
 * have them.
 */
export const SERVICE_UID = 60_811;
/** The user of etcd. */
export const ETCD_UID = 60_812;
/** The user of the ingress controller, which faces clients outside of the cluster. */
export const INGRESS_UID = 60_814;
export const ROOT_UID = 0;

/** Names by which clients reach the apiservers; never a container's address. */
const APISERVER_DNS_NAMES = [
  'apiserver',
  'load-balancer',
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster',
  'kubernetes.default.svc.cluster.local',
] as const;

/** The address of `default/kubernetes`. */
function kubernetesAddress(serviceCidr: string): string {
  return must(ownServiceAddresses(serviceCidr), `${JSON.stringify(serviceCidr)} as an IPv4 range`).kubernetes;
}

/** All certificates of the fixed services. Agents request theirs when they start. */
export function fixedRoles(options: { readonly etcdMembers: readonly string[]; readonly serviceCidr: string }): Role[] {
  const etcd = options.etcdMembers.map(
    (member): Role => ({
      folder: member,
      owner: ETCD_UID,
      authority: 'etcd',
      trusts: 'etcd',
      certificate: {
        commonName: 'etcd',
        organisations: [],
        dnsNames: [member, 'localhost'],
        ipAddresses: ['127.0.0.1'],
        usages: ['server', 'client'],
      },
    }),
  );
  return [
    ...etcd,
    {
      folder: 'apiserver',
      owner: SERVICE_UID,
      authority: 'cluster',
      trusts: 'cluster',
      certificate: {
        commonName: 'system:apiserver',
        organisations: [API_SERVERS],
        dnsNames: APISERVER_DNS_NAMES,
        ipAddresses: ['127.0.0.1', kubernetesAddress(options.serviceCidr)],
        usages: ['server', 'client'],
      },
    },
    // Towards agents: a client of the cluster, which trusts the authority of their servers.
    {
      folder: 'apiserver-agents',
      owner: SERVICE_UID,
      authority: 'cluster',
      trusts: 'nodes',
      certificate: clientOnly('system:apiserver', [API_SERVERS]),
    },
    etcdClient('apiserver-etcd', 'root'),
    etcdClient('scheduler-etcd', 'system:kube-scheduler'),
    etcdClient('controller-manager-etcd', 'system:kube-controller-manager'),
    {
      folder: 'front-proxy',
      owner: SERVICE_UID,
      authority: 'front-proxy',
      trusts: 'front-proxy',
      certificate: clientOnly('front-proxy-client', []),
    },
    service('scheduler', 'system:kube-scheduler'),
    service('controller-manager', 'system:kube-controller-manager'),
    // Root without the right to read others' files.
    { ...service('proxy', 'system:kube-proxy'), owner: ROOT_UID },
    service('dns', 'system:kube-dns'),
    { ...service('ingress', 'system:ingress-controller'), owner: INGRESS_UID },
    {
      folder: 'admin',
      owner: ROOT_UID,
      authority: 'cluster',
      trusts: 'cluster',
      certificate: clientOnly('kubernetes-admin', [ADMINISTRATORS]),
    },
  ];
}

function service(folder: string, commonName: string): Role {
  return {
    folder,
    owner: SERVICE_UID,
    authority: 'cluster',
    trusts: 'cluster',
    certificate: {
      commonName,
      organisations: [FIXED_SERVICES],
      dnsNames: [folder, 'localhost'],
      ipAddresses: ['127.0.0.1'],
      usages: ['server', 'client'],
    },
  };
}

/** A user of etcd. etcd maps the common name to its own user of that name. */
function etcdClient(folder: string, user: string): Role {
  return { folder, owner: SERVICE_UID, authority: 'etcd', trusts: 'etcd', certificate: clientOnly(user, []) };
}

function clientOnly(commonName: string, organisations: readonly string[]): CertificateSpec {
  return { commonName, organisations, dnsNames: [], ipAddresses: [], usages: ['client'] };
}
