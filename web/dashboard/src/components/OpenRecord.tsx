import './OpenRecord.css'

/** Lists texts of a merchant by their keys, both unchanged. */
export function OpenRecord({ record }: { readonly record: { readonly [key: string]: string } }) {
  return (
    <dl className="OpenRecord">
      {Object.entries(record).map(([key, value]) => (
        <div key={key}>
          <dt>
            <bdi>{key}</bdi>
          </dt>
          <dd>
            <bdi>{value}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  )
}
