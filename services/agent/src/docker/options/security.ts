import type Docker from 'dockerode';
import type { ContainerSecurity } from '../../runtime/containers.ts';
import type { EnginePrivilege } from '../../runtime/engine.ts';
import type { OptionGroup } from './option-group.ts';

/** User, groups, capabilities and privilege. */
export const securityOptions: OptionGroup = ({ security }, engine) => ({
  container: security.user === undefined ? {} : { User: security.user },
  host: {
    ReadonlyRootfs: security.rootFilesystem === 'read-only',
    GroupAdd: [...security.groups],
    ...(security.privilege === 'privileged' ? privilegedOptions(engine) : ordinaryOptions(security)),
  },
});

/** Full privilege, or as much of it as the engine can give. */
function privilegedOptions(engine: EnginePrivilege): Docker.HostConfig {
  if (engine === 'full') return { Privileged: true };
  return {
    CapAdd: ['ALL'],
    CapDrop: ['SYS_RESOURCE'],
    SecurityOpt: ['seccomp=unconfined', 'apparmor=unconfined'],
    DeviceCgroupRules: ['a *:* rwm'],
    MaskedPaths: [],
    ReadonlyPaths: [],
  };
}

function ordinaryOptions({ capabilities, escalation }: ContainerSecurity): Docker.HostConfig {
  return {
    CapAdd: [...capabilities.add],
    CapDrop: [...capabilities.drop],
    SecurityOpt: escalation === 'denied' ? ['no-new-privileges'] : [],
  };
}
