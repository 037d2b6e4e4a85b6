/** Settings of the certificate job. */
export interface PkiConfig {
  readonly root: string;
  /** Contains one data folder per etcd member, and that of the audit log. */
  readonly dataRoot: string;
  readonly etcdMembers: readonly string[];
  readonly serviceCidr: string;
  readonly clusterId: string;
  /** Folder for the administrator's kubeconfig, or '' for none. */
  readonly kubeconfigFolder: string;
  readonly server: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

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
    clusterId: text('GANTRY_CLUSTER_ID', 'gantry'),
    kubeconfigFolder: environment['GANTRY_KUBECONFIG_DIR'] ?? '',
    server: text('GANTRY_SERVER', 'https://127.0.0.1:6443'),
  });
}
