/** Subject, names and validity of a certificate. */
export interface CertificateSpec {
  readonly commonName: string;
  readonly organisations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly usages: readonly ('client' | 'server')[];
}

/** A folder that one service mounts, and its certificate. */
export interface Role {
  /** Name of the folder in the job's root; each is a volume. */
  readonly folder: string;
  readonly certificate: CertificateSpec;
  /** The issuer; the cluster's authority when absent. */
  readonly authority?: 'front-proxy';
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

/** The first address of the Service range: the address of `default/kubernetes`. */
export function firstServiceAddress(serviceCidr: string): string {
  const parts = (serviceCidr.split('/')[0] ?? '').split('.').map(Number);
  const value = parts.reduce((sum, part) => sum * 256 + part, 0) + 1;
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}

/** All certificates of the fixed services. Agents request theirs when they start. */
export function fixedRoles(options: { readonly etcdMembers: readonly string[]; readonly serviceCidr: string }): Role[] {
  const etcd = options.etcdMembers.map(
    (member): Role => ({
      folder: member,
      owner: ETCD_UID,
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
      certificate: {
        commonName: 'system:apiserver',
        organisations: ['gantry:apiservers'],
        dnsNames: APISERVER_DNS_NAMES,
        ipAddresses: ['127.0.0.1', firstServiceAddress(options.serviceCidr)],
        usages: ['server', 'client'],
      },
    },
    { folder: 'apiserver-etcd', owner: SERVICE_UID, certificate: clientOnly('root', []) },
    {
      folder: 'front-proxy',
      owner: SERVICE_UID,
      authority: 'front-proxy',
      certificate: clientOnly('front-proxy-client', []),
    },
    service('scheduler', 'system:kube-scheduler'),
    service('controller-manager', 'system:kube-controller-manager'),
    { folder: 'admin', owner: ROOT_UID, certificate: clientOnly('kubernetes-admin', ['system:masters']) },
  ];
}

function service(folder: string, commonName: string): Role {
  return {
    folder,
    owner: SERVICE_UID,
    certificate: {
      commonName,
      organisations: ['gantry:services'],
      dnsNames: [folder, 'localhost'],
      ipAddresses: ['127.0.0.1'],
      usages: ['server', 'client'],
    },
  };
}

function clientOnly(commonName: string, organisations: readonly string[]): CertificateSpec {
  return { commonName, organisations, dnsNames: [], ipAddresses: [], usages: ['client'] };
}
