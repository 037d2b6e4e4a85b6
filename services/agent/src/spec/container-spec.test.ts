import { describe, expect, it } from 'vitest';
import type { Container } from '@gantry/objects';
import { container, pod } from '../testing/pods.ts';
import { containerSpec } from './container-spec.ts';

describe('a container for the runtime', () => {
  const image = { id: 'sha256:1', sizeBytes: 1, digests: [], user: '' };
  const spec = (change: Partial<Container>, user = '') =>
    containerSpec({
      owner: { cluster: 'c', node: 'n' },
      pod: pod({ securityContext: { fsGroup: 2000 } }),
      container: container('main', change),
      attempt: 0,
      sandboxId: 's',
      restartDelayMs: 0,
      environment: new Map([['NAME', 'world']]),
      mounts: [],
      image: { ...image, user },
      engine: 'full',
      capacityBytes: 2 ** 30,
    });

  it('takes command and arguments apart as Kubernetes does', () => {
    expect(spec({})).not.toHaveProperty('command');
    expect(spec({ args: ['hello $(NAME)'] })).toMatchObject({ args: ['hello world'] });
    expect(spec({ command: ['echo'], args: ['$(NAME)'] })).toMatchObject({ command: ['echo'], args: ['world'] });
  });

  it('translates the security context', () => {
    expect(
      spec({
        securityContext: {
          runAsUser: 1000,
          runAsGroup: 3000,
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
        },
      }),
    ).toMatchObject({
      security: { user: '1000:3000', groups: ['2000'], rootFilesystem: 'read-only', escalation: 'denied' },
    });
  });

  it.each([
    [{ runAsNonRoot: true }, '', 'container has runAsNonRoot and image will run as root'],
    [{ runAsNonRoot: true, runAsUser: 0 }, '5', "container's runAsUser breaks non-root policy"],
    [{ runAsNonRoot: true }, 'www', 'container has runAsNonRoot and image has non-numeric user (www)'],
  ])('refuses %j for an image of user %j', (securityContext, user, message) => {
    expect(() => spec({ securityContext }, user)).toThrow(message);
  });
});
