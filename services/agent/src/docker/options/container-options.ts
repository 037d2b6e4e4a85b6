import type Docker from 'dockerode';
import type { ContainerSpec } from '../../runtime/containers.ts';
import type { EnginePrivilege } from '../../runtime/engine.ts';
import { deviceOptions } from './devices.ts';
import { identityOptions } from './identity.ts';
import { LOG_CONFIG } from './logging.ts';
import { mountOptions } from './mounts.ts';
import { namespaceOptions } from './namespaces.ts';
import type { OptionGroup } from './option-group.ts';
import { processOptions } from './process.ts';
import { resourceOptions } from './resources.ts';
import { securityOptions } from './security.ts';

/** A new field of a container is translated in its group's file; a new group is a file and a line here. */
const GROUPS: readonly OptionGroup[] = [
  identityOptions,
  processOptions,
  namespaceOptions,
  mountOptions,
  deviceOptions,
  resourceOptions,
  securityOptions,
];

/** The engine's options for a pod's container. */
export function containerOptions(spec: ContainerSpec, engine: EnginePrivilege): Docker.ContainerCreateOptions {
  const parts = GROUPS.map((group) => group(spec, engine));
  return Object.assign({}, ...parts.map(({ container }) => container), {
    HostConfig: Object.assign({ LogConfig: LOG_CONFIG }, ...parts.map(({ host }) => host)) as Docker.HostConfig,
  }) as Docker.ContainerCreateOptions;
}
