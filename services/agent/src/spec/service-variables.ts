/** The variables that name the API server's Service, which every pod gets. */
export function apiServerVariables(address: string, port: number): Readonly<Record<string, string>> {
  const url = `tcp://${address}:${port}`;
  return {
    KUBERNETES_SERVICE_HOST: address,
    KUBERNETES_SERVICE_PORT: String(port),
    KUBERNETES_SERVICE_PORT_HTTPS: String(port),
    KUBERNETES_PORT: url,
    [`KUBERNETES_PORT_${port}_TCP`]: url,
    [`KUBERNETES_PORT_${port}_TCP_PROTO`]: 'tcp',
    [`KUBERNETES_PORT_${port}_TCP_PORT`]: String(port),
    [`KUBERNETES_PORT_${port}_TCP_ADDR`]: address,
  };
}

/** The first address of the Services' range: that of the API server's own Service. */
export function firstServiceAddress(cidr: string): string {
  const [a, b, c, d] = (cidr.split('/')[0] ?? '').split('.');
  return [a, b, c, Number(d) + 1].join('.');
}
