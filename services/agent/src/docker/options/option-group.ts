import type Docker from 'dockerode';
import type { ContainerSpec } from '../../runtime/containers.ts';
import type { EnginePrivilege } from '../../runtime/engine.ts';

/** Translates one group of a container's fields into options of the engine. No two groups set the same option. */
export type OptionGroup = (
  spec: ContainerSpec,
  engine: EnginePrivilege,
) => {
  readonly container?: Docker.ContainerCreateOptions;
  readonly host?: Docker.HostConfig;
};
