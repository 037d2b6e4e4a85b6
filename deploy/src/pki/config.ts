import { TOKEN_KEY_ORDERS, type TokenKeyOrder } from './token-keys.ts';

/** Settings of the certificate job. */
export interface PkiConfig {
  readonly root: string;
  /** Contains one data folder per etcd member, those of the audit log and of snapshots, and that of the ingress controller. */
  readonly dataRoot: string;
  readonly etcdMembers: readonly string[];
  readonly serviceCidr: string;
  readonly tokenKeys: TokenKeyOrder;
  readonly clusterId: string;
  /** Folder for the administrator's kubeconfig, or '' for none. */
  readonly kubeconfigFolder: string;
  readonly server: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A setting with a value that it cannot have. */
export class PkiConfigError extends Error {
  override readonly name = 'PkiConfigError';
}

/** Reads the environment once. Defaults are those of the Compose file. */
export function readPkiConfig(environment: Environment): PkiConfig {
  const text = (name: string, fallback: string) => {
    const value = environment[name]?.trim() ?? '';
    return value === '' ? fallback : value;
  };
  return Object.freeze({
    root: text('GANTRY_PKI_DIR', '/pki'),
    dataRoot: text('GANTRY_DATA_DIR', '/data'),
    etcdMembers: text('GANTRY_ETCD_MEMBERS', 'etcd-0,etcd-1,etcd-2').split(','),
    serviceCidr: text('GANTRY_SERVICE_CIDR', '10.96.0.0/16'),
    tokenKeys: tokenKeyOrder(text('GANTRY_SERVICE_ACCOUNT_KEYS', 'keep')),
    clusterId: text('GANTRY_CLUSTER_ID', 'gantry'),
    kubeconfigFolder: environment['GANTRY_KUBECONFIG_DIR'] ?? '',
    server: text('GANTRY_SERVER', 'https://127.0.0.1:6443'),
  });
}

function tokenKeyOrder(text: string): TokenKeyOrder {
  const order = TOKEN_KEY_ORDERS.find((one) => one === text);
  if (order !== undefined) return order;
  throw new PkiConfigError(`GANTRY_SERVICE_ACCOUNT_KEYS: ${text} is not one of ${TOKEN_KEY_ORDERS.join(', ')}`);
}
