import { getRouteApi } from '@tanstack/react-router'
import { useText } from '../../app/texts'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Select } from '../../components/Select'
import { useUsers } from '../users/use-users'
import { PointInTimeField } from './PointInTimeField'
import { StateAtTime } from './StateAtTime'

const route = getRouteApi('/pages/audit')

/** Shows the role and the access of a user of the dashboard at a chosen time. */
export function UserHistory() {
  const text = useText()
  const query = useUsers()
  const { id, at } = route.useSearch()
  const navigate = route.useNavigate()
  const go = (changes: object) => void navigate({ search: (previous) => ({ ...previous, ...changes }) })
  return (
    <Loaded query={query}>
      {({ items }) => (
        <>
          <div className="Audit-question">
            <Select
              label={text('audit.who')}
              options={items.map(({ userId, name }) => ({ value: userId, label: name }))}
              placeholder={text('audit.whichUser')}
              {...(id !== undefined && { value: id })}
              onChange={(next) => go({ id: next })}
            />
            <PointInTimeField at={at} onChange={(next) => go({ at: next })} />
          </div>
          {id === undefined ? (
            <Empty title={text('audit.whichUser')}>{text('audit.whichMerchantHelp')}</Empty>
          ) : (
            <StateAtTime of="user" id={id} at={at} />
          )}
        </>
      )}
    </Loaded>
  )
}
