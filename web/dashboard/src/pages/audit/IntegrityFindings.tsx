import { Link } from '@tanstack/react-router'
import type { AuditFinding } from '../../../../../src/http/dashboard/audit/audit-api'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'

/** Lists the places that failed verification, at most one hundred of them. */
export function IntegrityFindings({ findings }: { readonly findings: readonly AuditFinding[] }) {
  const text = useText()
  const shown = findings.slice(0, maxShown)
  return (
    <>
      <ul className="Audit-findings">
        {shown.map(({ kind, place, leafIndex, problem }) => (
          <li key={`${kind} ${place} ${leafIndex} ${problem}`}>
            <span className="row">
              <Badge tone="bad">{text(`audit.finding.${kind}`)}</Badge>
              <Place place={place} />
              {leafIndex !== null && <span className="small">{text('audit.leaf', { index: leafIndex })}</span>}
            </span>
            <bdi lang="en">{problem}</bdi>
          </li>
        ))}
      </ul>
      {findings.length > maxShown && <p>{text('audit.moreFindings', { count: findings.length - maxShown })}</p>}
    </>
  )
}

function Place({ place }: { readonly place: string }) {
  const [, trackingId] = transferPlace.exec(place) ?? []
  if (trackingId === undefined) return <code>{place}</code>
  return (
    <Link to="/audit" search={{ view: 'transfer', id: trackingId }}>
      <code>{place}</code>
    </Link>
  )
}

const maxShown = 100
const transferPlace = /^transfer-([\da-f-]{36})(?:@\d+)?$/
