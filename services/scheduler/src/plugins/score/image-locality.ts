import type { PodInfo, WantedImage } from '../../framework/pod-info.ts';
import type { ScorePlugin } from '../../framework/plugin.ts';
import type { ClusterSnapshot } from '../../framework/snapshot.ts';

const MIB = 1024 * 1024;
/** Less than this is not worth a preference. */
const LEAST_BYTES = 23 * MIB;
const MOST_BYTES_PER_CONTAINER = 1000 * MIB;

/**
 * Prefers nodes that have the images of the pod's containers, by their size. Images that few nodes have count for less, so that not all
 * pods gather on these nodes. The formula is that of Kubernetes (pkg/scheduler/framework/plugins/imagelocality/image_locality.go).
 */
export const imageLocality: ScorePlugin = {
  name: 'ImageLocality',
  weight: 1,
  score: ({ images = [], pod: { spec } }, nodes) => {
    if (images.length === 0) return 0;
    const most = MOST_BYTES_PER_CONTAINER * ((spec?.containers.length ?? 0) + (spec?.initContainers?.length ?? 0));
    return nodes.map((node) => {
      let bytes = 0;
      for (const { name, share } of images) bytes += Math.trunc((node.images.get(name) ?? 0) * share);
      const counted = Math.min(Math.max(bytes, LEAST_BYTES), most);
      return Math.trunc((100 * (counted - LEAST_BYTES)) / (most - LEAST_BYTES));
    });
  },
};

/** Returns the pod with the images of its containers that at least one node has. Returns the pod itself when there are none. */
export function withImages(info: PodInfo, { imageHolders, nodes }: ClusterSnapshot): PodInfo {
  if (imageHolders.size === 0) return info;
  const { containers = [], initContainers = [], volumes = [] } = info.pod.spec ?? {};
  const images: WantedImage[] = [];
  const add = (image: string | undefined) => {
    if (image === undefined) return;
    const name = image.lastIndexOf(':') <= image.lastIndexOf('/') ? `${image}:latest` : image;
    const holders = imageHolders.get(name);
    if (holders !== undefined) images.push({ name, share: holders / nodes.length });
  };
  for (const { image } of initContainers) add(image);
  for (const { image } of containers) add(image);
  for (const { image } of volumes) add(image?.reference);
  return images.length === 0 ? info : { ...info, images };
}
