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

/** Files of users have some kilobytes. */
const MAX_FILE_BYTES = 2 ** 20;
const MAX_KNOWN = 200;
/** Each reading makes and removes a container of the engine. */
const MAX_READINGS = 2;
/**
 * A reading that hangs gives its slot to others then, as a start does. It goes on until a request of it to the engine is at its deadline, so
 * that at most some dozens hang at a time, and never more than there are containers to be started.
 */
const MAX_READING_MS = 10_000;

/** What reading an image takes. */
interface ImageUserServices {
  readonly owner: Owner;
  readonly runtime: Pick<Runtime, 'imageFiles'>;
}

/**
 * Who the users of images are. An image's files are read for the first container that asks about groups, and remembered: an id of an
 * image stands for the same files for ever. Other containers wait for nothing.
 *
 * Readings have slots of their own. Some are done while a sandbox that waits for them holds one of those for starts, so that no reading
 * may wait for such a slot.
 */
export class ImageUsers {
  /** By image and user, the last used ones at the end. */
  readonly #known = new Map<string, ImageUser>();
  readonly #underWay = new Map<string, Promise<ImageUser>>();
  readonly #readings: Slots;

  constructor(clock: Clock) {
    this.#readings = new Slots(MAX_READINGS, { clock, maxHeldMs: MAX_READING_MS });
  }

  /** Undefined when it is not known and the pod does not ask for it. AgentErrors of `readImageFiles` and `imageUser`. */
  async find(
    pod: Pod,
    container: Container,
    image: ImageInfo,
    services: ImageUserServices,
    signal: AbortSignal,
  ): Promise<ImageUser | undefined> {
    const { name, use } = imageUserName(pod, container, image);
    // A name of an image may be as long as its files.
    const key = `${image.id} ${createHash('sha256').update(name).digest('hex')}`;
    for (;;) {
      const known = this.#recall(key);
      if (known !== undefined || use === 'if-known') return known;
      const other = this.#underWay.get(key);
      if (other === undefined) break;
      // Of another container: when it fails, this one reads for itself.
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
