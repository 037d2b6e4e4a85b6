import { createHash } from 'node:crypto';
import { type Clock, raceAbort } from '@gantry/base';
import type { Container, Pod } from '@gantry/objects';
import type { ImageInfo } from '../runtime/images.ts';
import type { Owner } from '../runtime/labels.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { GROUP, type ImageUser, imageUser, PASSWD } from '../spec/image-user.ts';
import { graceSecondsOf } from '../spec/pod-containers.ts';
import { identityOf } from '../spec/pod-names.ts';
import { imageUserName } from '../spec/security.ts';
import { Slots } from './slots.ts';

/** Far more than passwd and group files need. */
const MAX_FILE_BYTES = 2 ** 20;
const MAX_KNOWN = 200;
/** Each reading creates and removes a container in the engine. */
const MAX_READINGS = 2;
/**
 * A reading that hangs gives up its slot after this time, like a start. It continues until the deadline of its engine request. So at most
 * a few dozen readings hang at a time, and never more than there are containers to start.
 */
const MAX_READING_MS = 10_000;

/** Dependencies for reading an image. */
interface ImageUserServices {
  readonly owner: Owner;
  readonly runtime: Pick<Runtime, 'imageFiles'>;
}

/**
 * Resolves the users of images. An image's files are read for the first container that needs groups, and the result is remembered,
 * because an image id always stands for the same files. Other containers do not wait.
 *
 * Readings have slots of their own: a sandbox may hold a start slot while it waits for a reading, so readings must not need a start slot.
 */
export class ImageUsers {
  /** By image id and user, least recently used first. */
  readonly #known = new Map<string, ImageUser>();
  readonly #underWay = new Map<string, Promise<ImageUser>>();
  readonly #readings: Slots;

  constructor(clock: Clock) {
    this.#readings = new Slots(MAX_READINGS, { clock, maxHeldMs: MAX_READING_MS });
  }

  /** Undefined when the user is not known and the pod does not need it. AgentErrors of `readImageFiles` and `imageUser`. */
  async find(
    pod: Pod,
    container: Container,
    image: ImageInfo,
    services: ImageUserServices,
    signal: AbortSignal,
  ): Promise<ImageUser | undefined> {
    const { name, use } = imageUserName(pod, container, image);
    // Hashed, because a user name in an image may be very long.
    const key = `${image.id} ${createHash('sha256').update(name).digest('hex')}`;
    for (;;) {
      const known = this.#recall(key);
      if (known !== undefined || use === 'if-known') return known;
      const other = this.#underWay.get(key);
      if (other === undefined) break;
      // Another container reads it. If that fails, this one reads by itself.
      await raceAbort(Promise.allSettled([other]), signal);
    }
    const reading = this.#readings.use(() => read(pod, container, image, name, services, signal), signal);
    this.#underWay.set(key, reading);
    try {
      const found = await reading;
      this.#remember(key, found);
      return found;
    } finally {
      this.#underWay.delete(key);
    }
  }

  #recall(key: string): ImageUser | undefined {
    const known = this.#known.get(key);
    if (known !== undefined) this.#remember(key, known);
    return known;
  }

  #remember(key: string, user: ImageUser): void {
    this.#known.delete(key);
    this.#known.set(key, user);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }
}

async function read(
  pod: Pod,
  container: Container,
  image: ImageInfo,
  name: string,
  { owner, runtime }: ImageUserServices,
  signal: AbortSignal,
): Promise<ImageUser> {
  const identity = { owner, pod: identityOf(pod), graceSeconds: graceSecondsOf(pod), container: container.name };
  const spec = { ...identity, image, paths: [PASSWD, GROUP], maxBytes: MAX_FILE_BYTES };
  const files = await runtime.imageFiles.readImageFiles(spec, signal);
  const content = (path: string) => files.get(path) ?? new Uint8Array();
  return imageUser(name, { passwd: content(PASSWD), group: content(GROUP) });
}
