/** Contents of the administrator's kubeconfig; certificates and key are PEM. */
export interface KubeconfigParts {
  readonly clusterId: string;
  readonly server: string;
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

/** Formats a kubeconfig with embedded certificates. */
export function formatKubeconfig(parts: KubeconfigParts): string {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  return `apiVersion: v1
kind: Config
current-context: ${parts.clusterId}
clusters:
- name: ${parts.clusterId}
  cluster:
    server: ${parts.server}
    certificate-authority-data: ${base64(parts.authority)}
users:
- name: kubernetes-admin
  user:
    client-certificate-data: ${base64(parts.certificate)}
    client-key-data: ${base64(parts.key)}
contexts:
- name: ${parts.clusterId}
  context:
    cluster: ${parts.clusterId}
    user: kubernetes-admin
`;
}
