/** The keys and values of an object's annotations have at most this size together. */
export const MAX_ANNOTATIONS_BYTES = 262144;
