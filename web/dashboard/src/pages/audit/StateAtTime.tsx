import { useQuery } from '@tanstack/react-query'
import { hasValue, isOpenRecord } from '../../../../../src/domain/event-summary'
import type { AuditStateResponse } from '../../../../../src/http/dashboard/audit/audit-api'
import { api } from '../../api/api-client'
import { useText } from '../../app/texts'
import { Card } from '../../components/Card'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Time } from '../../components/Time'
import { StatementTable } from '../statement/StatementTable'
import { FieldValue, useFieldName } from './field-names'

interface StateAtTimeProps {
  readonly of: AuditStateResponse['of']
  readonly id: string
  readonly at: string | undefined
  /** The fields that the chosen event changed, which are marked. */
  readonly changed?: readonly string[] | undefined
}

/** Shows a state at a chosen time. The server computes it from the log, not from a read model. */
export function StateAtTime({ of, id, at, changed = [] }: StateAtTimeProps) {
  const text = useText()
  const search = { of, id, at }
  const query = useQuery({
    queryKey: ['audit-state', search],
    queryFn: ({ signal }) => api.get<AuditStateResponse>('/audit/state', search, signal),
  })
  return (
    <Card title={text(at === undefined ? 'audit.stateNow' : 'audit.stateThen')}>
      <Loaded query={query}>
        {({ state, statement, recordedAt, position }) => (
          <>
            {recordedAt !== null && (
              <p className="muted small">
                {text('audit.lastEvent')} <Time at={recordedAt} exact /> · {text('fields.position')}{' '}
                <code>{position}</code>
              </p>
            )}
            {state && <Fields data={of === 'user' ? withoutUserId(state) : state} changed={changed} />}
            {changed.length > 0 && <p className="muted small">{text('audit.changedHelp')}</p>}
            {statement &&
              (statement.length === 0 ? (
                <Empty title={text('audit.emptyStatement')} />
              ) : (
                <StatementTable items={statement} />
              ))}
          </>
        )}
      </Loaded>
    </Card>
  )
}

/** The page names the user already, and the label of `userId` is that of a merchant's customer. */
function withoutUserId({ userId: _, ...shown }: { readonly [field: string]: unknown }): object {
  return shown
}

function Fields({ data, changed }: { readonly data: object; readonly changed: readonly string[] }) {
  const text = useText()
  const fieldName = useFieldName()
  return (
    <dl className="Audit-fields">
      {Object.entries(data).map(([name, value]) => (
        <div key={name} data-changed={changed.includes(name) || undefined}>
          <dt>{fieldName(name)}</dt>
          <dd>
            {name === 'merchantIds' && value === null ? (
              text('common.allMerchants')
            ) : !hasValue(name, value) || (Array.isArray(value) && value.length === 0) ? (
              <span className="muted">{text('common.none')}</span>
            ) : (
              Object.entries([value].flat()).map(([key, each]) => {
                if (isNested(each) && !isOpenRecord(name, each))
                  return <Fields key={key} data={each} changed={changed} />
                return (
                  <div key={key}>
                    <FieldValue name={name} value={each} />
                  </div>
                )
              })
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
