/** Works on each item, in their order, on at most so many at the same time. Rejects with the first failure, and then begins no other item. */
export async function fewAtOnce<T>(items: readonly T[], most: number, work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const workOn = async () => {
    try {
      while (next < items.length) {
        const item = items[next++] as T;
        await work(item);
      }
    } catch (error) {
      next = items.length;
      throw error;
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, workOn));
}
