import type Docker from 'dockerode';
import type { AppArmor, ContainerSecurity } from '../../runtime/containers.ts';
import type { EnginePrivilege } from '../../runtime/engine.ts';
import type { OptionGroup } from './option-group.ts';

/** Docker's default profile for containers that are not privileged. */
const DOCKER_APPARMOR = 'docker-default';

const SYS_RESOURCE = 'SYS_RESOURCE';

/** User, groups, capabilities, profiles and privilege. */
export const securityOptions: OptionGroup = ({ security }, engine) => ({
  container: security.user === undefined ? {} : { User: security.user },
  host: {
    ReadonlyRootfs: security.rootFilesystem === 'read-only',
    GroupAdd: [...security.groups],
    ...(security.privilege === 'privileged' ? privilegedOptions(security, engine) : ordinaryOptions(security, engine)),
  },
});

/** Full privilege, or as much as the engine can give. Seccomp never applies to privileged containers, in Docker and in Kubernetes. */
function privilegedOptions(security: ContainerSecurity, engine: EnginePrivilege): Docker.HostConfig {
  const labels = [...seLinuxOptions(security)];
  if (engine === 'full') {
    return { Privileged: true, SecurityOpt: [...appArmorOptions(security.appArmor), ...labels] };
  }
  const appArmor = security.appArmor.kind === 'engine-default' ? ({ kind: 'unconfined' } as const) : security.appArmor;
  return {
    CapAdd: ['ALL'],
    CapDrop: engine === 'no-sys-resource' ? [SYS_RESOURCE] : [],
    SecurityOpt: ['seccomp=unconfined', ...appArmorOptions(appArmor), ...labels],
    DeviceCgroupRules: ['a *:* rwm'],
    ...UNMASKED,
  };
}

/** No path in /proc is hidden or read-only. */
const UNMASKED: Docker.HostConfig = { MaskedPaths: [], ReadonlyPaths: [] };

function ordinaryOptions(security: ContainerSecurity, engine: EnginePrivilege): Docker.HostConfig {
  const { capabilities, escalation, seccomp, proc } = security;
  return {
    CapAdd: [...capabilities.add],
    // A capability that the engine does not have must not be named, even to drop it.
    CapDrop: capabilities.drop.filter((name) => engine !== 'sys-resource-unknown' || !isSysResource(name)),
    SecurityOpt: [
      ...(escalation === 'denied' ? ['no-new-privileges'] : []),
      ...seccompOptions(seccomp),
      ...appArmorOptions(security.appArmor),
      ...seLinuxOptions(security),
    ],
    ...(proc === 'unmasked' ? UNMASKED : {}),
  };
}

/** Kubernetes accepts names with and without prefix, in any case. */
function isSysResource(name: string): boolean {
  return name.toUpperCase().replace(/^CAP_/, '') === SYS_RESOURCE;
}

/** A profile is passed as text, because the engine does not read files. */
function seccompOptions(seccomp: ContainerSecurity['seccomp']): readonly string[] {
  if (seccomp === 'engine-default') return [];
  return [`seccomp=${seccomp === 'unconfined' ? seccomp : seccomp.profile}`];
}

function appArmorOptions(profile: AppArmor): readonly string[] {
  switch (profile.kind) {
    case 'engine-default':
      return [];
    case 'runtime-default':
      return [`apparmor=${DOCKER_APPARMOR}`];
    case 'unconfined':
      return ['apparmor=unconfined'];
    case 'profile':
      return [`apparmor=${profile.name}`];
  }
}

function seLinuxOptions({ seLinux }: ContainerSecurity): readonly string[] {
  return Object.entries(seLinux).map(([part, value]) => `label=${part}:${value}`);
}
