/** Services of docker-compose.yml that can be members of etcd. An even number, and more than five, only make writes slower. */
export const MEMBER_SERVICES: readonly string[] = ['etcd-0', 'etcd-1', 'etcd-2', 'etcd-3', 'etcd-4'];

/** The variables of docker-compose.yml that make these services the members of etcd. */
export function formatMembers(members: readonly string[]): Readonly<Record<string, string>> {
  const replicas = MEMBER_SERVICES.map((name) => [
    `GANTRY_${name.toUpperCase().replace('-', '_')}_REPLICAS`,
    members.includes(name) ? '1' : '0',
  ]);
  return {
    GANTRY_ETCD_MEMBERS: members.join(),
    GANTRY_ETCD: members.map((name) => `https://${name}:2379`).join(),
    ...Object.fromEntries(replicas),
  };
}

/**
 * The members of a cluster whose settings file has these variables. Files of earlier versions, and new clusters, have those of their
 * overlays, which change no member later: without its quorum, etcd would serve nothing.
 */
export function storedMembers(
  stored: Readonly<Record<string, string>>,
  overlays: readonly string[],
): readonly string[] {
  const { GANTRY_ETCD_MEMBERS: members, GANTRY_OVERLAYS: before } = stored;
  if (members !== undefined) return members.split(',');
  return (before?.split(',') ?? overlays).includes('light') ? MEMBER_SERVICES.slice(0, 1) : MEMBER_SERVICES.slice(0, 3);
}
