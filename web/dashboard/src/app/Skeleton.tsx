import './Skeleton.css'

const rows = [1, 2, 3, 4, 5, 6, 7, 8]

/** The shape of a page without any text, until the texts and the session are known. index.html contains the same for the time before. */
export function Skeleton() {
  return (
    <div className="Skeleton" aria-hidden="true">
      <div className="Skeleton-side" />
      <div className="Skeleton-page">
        {rows.map((row) => (
          <div key={row} className="Skeleton-row" />
        ))}
      </div>
    </div>
  )
}
