import { expect, it } from 'vitest';
import { MOUNT_ENVIRONMENT, overlayOptions } from './image-volume-options.ts';

/** The maximum number of layers that the engine unpacks for an image. */
const MAX_LAYERS = 125;
const PAGE_BYTES = 4096;

it('as many layers as an image can have are mounted: by the system call that takes a page of options', () => {
  const options = overlayOptions(MAX_LAYERS);
  expect(options).toMatch(
    /^ro,nosuid,nodev,redirect_dir=nofollow,lowerdir=\/layers\/0:.*:\/layers\/124:\/empty\/upper:\/empty\/lower$/,
  );
  expect(options.length).toBeLessThan(PAGE_BYTES);
  // The other options use this many characters.
  expect(options.length).toBeGreaterThan(256);
  expect(MOUNT_ENVIRONMENT).toBe('LIBMOUNT_FORCE_MOUNT2=always');
});
