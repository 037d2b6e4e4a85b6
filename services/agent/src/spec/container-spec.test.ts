import { describe, expect, it } from 'vitest';
import type { Container, SecurityContext } from '@gantry/objects';
import { container, ENGINE, pod } from '../testing/pods.ts';
import { containerSpec, type ContainerSpecInput } from './container-spec.ts';

const POD = pod({ securityContext: { fsGroup: 2000 } });

const DEVICES = [{ hostPath: '/dev/disk', containerPath: '/dev/given', access: 'read-only' }] as const;

describe('a container for the runtime', () => {
  const image = { id: 'sha256:1', sizeBytes: 1, digests: [], user: '', labels: ['com.docker.compose.project'] };
  const spec = (change: Partial<Container>, user = '', found: Pick<ContainerSpecInput, 'imageUser'> = {}, of = POD) =>
    containerSpec({
      ...found,
      owner: { cluster: 'c', node: 'n' },
      pod: of,
      container: container('main', change),
      attempt: 0,
      sandboxId: 's',
      group: 'engine',
      restartDelayMs: 0,
      environment: new Map([['NAME', 'world']]),
      mounts: [],
      devices: DEVICES,
      image: { ...image, user },
      engine: ENGINE,
      privilege: 'full',
      capacityBytes: 2 ** 30,
      processLimit: 1000,
    });

  it('has the block devices of its volumes', () => {
    expect(spec({}).devices).toEqual(DEVICES);
  });

  it('takes command and arguments apart as Kubernetes does', () => {
    expect(spec({})).not.toHaveProperty('command');
    expect(spec({ args: ['hello $(NAME)'] })).toMatchObject({ args: ['hello world'] });
    expect(spec({ command: ['echo'], args: ['$(NAME)'] })).toMatchObject({ command: ['echo'], args: ['world'] });
  });

  it.each([
    [{ args: ['x', '$(NAME)'.repeat(30_000)] }, 'args[1] has 150000 bytes; a program gets at most 131071 in one'],
    [{ command: ['$(NAME)'.repeat(30_000)] }, 'command[0] has 150000 bytes'],
    [
      { args: Array.from({ length: 30 }, () => '$(NAME)'.repeat(20_000)) },
      'with args[20], arguments and variables take',
    ],
  ])('has no larger arguments than a program can get, with its variables', (change, message) => {
    expect(() => spec(change)).toThrow(expect.objectContaining({ code: 'CreateContainerConfigError' }));
    expect(() => spec(change)).toThrow(message);
  });

  it('translates the security context', () => {
    expect(
      spec(
        {
          securityContext: {
            runAsUser: 1000,
            runAsGroup: 3000,
            readOnlyRootFilesystem: true,
            allowPrivilegeEscalation: false,
          },
        },
        '',
        { imageUser: { uid: 1000, gid: 0, groups: [], misnamed: new Map() } },
      ),
    ).toMatchObject({
      security: { user: '1000:3000', groups: ['2000'], rootFilesystem: 'read-only', escalation: 'denied' },
    });
  });

  it.each([
    { user: '1000:3000', groups: {}, processUser: { uid: 1000, gid: 3000, groups: [3000] } },
    // This depends on the image's files.
    { user: '1000:3000', groups: { fsGroup: 2000 } },
    { user: '1000', groups: {} },
    { user: 'www:3000', groups: {} },
    { user: '', groups: {} },
  ])('without files of the image says of its user "$user" with $groups who that is: $processUser', (of) => {
    const shared = pod({ securityContext: of.groups });
    const { security } = spec({}, of.user, {}, shared);
    expect(security.processUser).toEqual(of.processUser);
    expect(security.user).toBeUndefined();
  });

  const nonRoot = (users: readonly string[], message: string) =>
    users.map((user): [SecurityContext, string, string] => [{ runAsNonRoot: true }, user, message]);

  it.each<[SecurityContext, string, string]>([
    ...nonRoot(
      ['', '0', '00', '000', '+0', '-0', '0:0', '00:1000', ':1000'],
      'container has runAsNonRoot and image will run as root',
    ),
    ...nonRoot(['www', 'root', 'toor', ' 0', '0x0', '0_0', '0.0', '٠'], 'image has non-numeric user ('),
    ...nonRoot(['4294967296', '-1', '+4294967296', '2147483648', '99999999999999999999'], ', which is not an id'),
    [{ runAsNonRoot: true, runAsUser: 0 }, '5', "container's runAsUser breaks non-root policy"],
    [{ runAsNonRoot: true, runAsUser: 4294967296 }, '5', 'runAsUser 4294967296 is not an id'],
  ])('refuses %j for an image of user %j', (securityContext, user, message) => {
    expect(() => spec({ securityContext }, user)).toThrow(message);
  });

  it.each(['1000', '1000:0', '2147483647'])('runs an image of user %j without root', (user) => {
    expect(spec({ securityContext: { runAsNonRoot: true } }, user).security).not.toHaveProperty('user');
  });

  it('runs the very image that was checked, by its id', () => {
    expect(spec({ image: 'nginx:1.27' })).toMatchObject({
      image: 'sha256:1',
      imageLabels: ['com.docker.compose.project'],
    });
  });
});
