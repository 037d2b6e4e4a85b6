import type Docker from 'dockerode';
import type { Replica } from './plan.ts';

const LABEL = 'com.docker.compose';
const NUMBER = `${LABEL}.container-number`;
/** The name that the engine gives a volume without one. */
const ANONYMOUS = /^[0-9a-f]{64}$/;

/** The options of a container, and the networks that it is connected to before it starts. */
export interface SuccessorOptions {
  readonly create: Docker.ContainerCreateOptions;
  readonly networks: Readonly<Record<string, Docker.EndpointSettings>>;
}

/**
 * A successor of `old` with the options of `model`, a container that Compose has made by the present definition and never started. It has
 * the number of `old`, so that Compose takes it for the same replica, and the anonymous volumes of `old`.
 */
export function successorOptions(
  model: Docker.ContainerInspectInfo,
  old: Docker.ContainerInspectInfo,
  { id, name }: Pick<Replica, 'id' | 'name'>,
): SuccessorOptions {
  const { Hostname: _ofModel, Volumes: volumes, Labels: labels, ...config } = model.Config;
  const anonymous = model.Mounts.filter(({ Type, Name = '' }) => Type === 'volume' && ANONYMOUS.test(Name));
  const kept = old.Mounts.filter(
    ({ Type, Destination }) => Type === 'volume' && anonymous.some((mount) => mount.Destination === Destination),
  );
  const isKept = (path: string) => kept.some(({ Destination }) => Destination === path);
  const modelName = ['project', 'service', 'container-number'].map((key) => labels[`${LABEL}.${key}`]).join('-');
  const networks = Object.entries(model.NetworkSettings.Networks).map(([network, { IPAMConfig, Aliases }]) => {
    const aliases = (Aliases ?? []).filter((alias: string) => !model.Id.startsWith(alias));
    return [
      network,
      { IPAMConfig, Aliases: aliases.map((alias: string) => (alias === modelName ? name : alias)) },
    ] as const;
  });
  const [first, ...others] = networks.toSorted(([one], [other]) => isFirst(model, other) - isFirst(model, one));
  return {
    create: {
      ...config,
      name: `${id.slice(0, 12)}_${name}`,
      Labels: { ...labels, [NUMBER]: old.Config.Labels[NUMBER] ?? '' },
      Volumes: Object.fromEntries(Object.entries(volumes ?? {}).filter(([path]) => !isKept(path))),
      HostConfig: {
        ...model.HostConfig,
        Mounts: [
          ...(model.HostConfig.Mounts ?? []).filter(({ Target }) => !isKept(Target)),
          ...kept.map(({ Name = '', Destination }) => ({ Type: 'volume' as const, Source: Name, Target: Destination })),
        ],
      },
      ...(first === undefined ? {} : { NetworkingConfig: { EndpointsConfig: Object.fromEntries([first]) } }),
    },
    networks: Object.fromEntries(others),
  };
}

/** An engine before 25 connects a container that it creates to one network only: that of its mode. */
function isFirst({ HostConfig }: Docker.ContainerInspectInfo, network: string): number {
  return HostConfig.NetworkMode === network ? 1 : 0;
}

/** Creates a successor of `old`; it does not run yet. Returns its id. */
export async function createSuccessor(engine: Docker, modelId: string, old: Replica): Promise<string> {
  const [model, present] = await Promise.all([
    engine.getContainer(modelId).inspect(),
    engine.getContainer(old.id).inspect(),
  ]);
  const { create, networks } = successorOptions(model, present, old);
  const { id } = await engine.createContainer(create);
  for (const [network, settings] of Object.entries(networks)) {
    await engine.getNetwork(network).connect({ Container: id, EndpointConfig: settings });
  }
  return id;
}
