import { useQuery } from '@tanstack/react-query'
import type { CheckItem, ChecksResponse } from '../../../../../src/http/dashboard/operations/operations-api'
import { useText } from '../../app/texts'
import { Badge, type Tone } from '../../components/Badge'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { Loaded } from '../../components/Loaded'
import { Time } from '../../components/Time'
import { checksQuery } from './operations-queries'

const tones: { readonly [result in CheckItem['result']]: Tone } = {
  ok: 'good',
  warning: 'person',
  failed: 'bad',
  unknown: 'wait',
}
const worstFirst: readonly CheckItem['result'][] = ['failed', 'unknown', 'warning']

/** Shows the results of `transferd doctor`. Passed checks are collapsed. */
export function DoctorChecks() {
  const text = useText()
  const query = useQuery(checksQuery)
  return (
    <Card
      id="operations-checks"
      title={text('operations.checks')}
      actions={
        <Button pending={query.isFetching} onPress={() => void query.refetch()}>
          {text('operations.checkAgain')}
        </Button>
      }
    >
      <Loaded query={query}>{(answer) => <CheckResults answer={answer} />}</Loaded>
    </Card>
  )
}

function CheckResults({ answer: { at, checks } }: { readonly answer: ChecksResponse }) {
  const text = useText()
  const failed = worstFirst.flatMap((result) => checks.filter((check) => check.result === result))
  const passed = checks.filter(({ result }) => result === 'ok')
  return (
    <>
      <p className="muted small">
        {text('operations.checkedAt')} <Time at={at} />
      </p>
      {failed.length > 0 && <List checks={failed} />}
      <details>
        <summary>{text('operations.checksPassed', { count: passed.length })}</summary>
        <List checks={passed} />
      </details>
    </>
  )
}

function List({ checks }: { readonly checks: readonly CheckItem[] }) {
  const text = useText()
  return (
    <ul className="Operations-checks">
      {checks.map(({ name, subject, result, found, advice }) => (
        <li key={`${name} ${subject}`}>
          <span className="row">
            <Badge tone={tones[result]}>{text(`operations.result.${result}`)}</Badge>
            <strong>{name}</strong>
            {subject !== null && <code>{subject}</code>}
          </span>
          <bdi lang="en">{found}</bdi>
          {advice !== null && (
            <bdi lang="en" className="Operations-advice">
              {advice}
            </bdi>
          )}
        </li>
      ))}
    </ul>
  )
}
