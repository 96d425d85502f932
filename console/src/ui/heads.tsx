/** Heads of columns of a plain table. num: the columns have numbers. */
export function Heads({ names, num = false }: { names: readonly string[]; num?: boolean }) {
  return names.map((name) => (
    <th key={name} className={num ? "num" : undefined}>
      <span>{name}</span>
    </th>
  ));
}
