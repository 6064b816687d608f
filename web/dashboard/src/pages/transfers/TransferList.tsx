import './TransfersPage.css'
import { useNavigate } from '@tanstack/react-router'
import { api } from '../../api/api-client'
import type { Kind, TransferRow } from '../../api/contract'
import { usePages } from '../../api/use-pages'
import { useSession } from '../../app/current-session'
import { useMerchant } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Filters } from '../../components/Filters'
import { Loaded } from '../../components/Loaded'
import { Page } from '../../components/Page'
import { isFiltered, noFilters, offeredFacets, offeredOrders, orderOf, type TransfersSearch } from './list-search'
import { useColumns } from './transfer-columns'
import { useFilterFields } from './transfer-filters'
import { useLiveList } from './use-live-list'

interface TransferListProps {
  readonly kind: Kind
  readonly search: TransfersSearch
  readonly onSearch: (changes: TransfersSearch) => void
}

const pageSize = 50
const idOf = ({ trackingId }: TransferRow) => trackingId

export function TransferList({ kind, search, onSearch }: TransferListProps) {
  const text = useText()
  const navigate = useNavigate()
  const merchantId = useMerchant()
  const question = { ...search, kind, merchantId }
  const key = ['transfers', question]
  const { items, query, more } = usePages<TransferRow>(key, '/transfers', { ...question, limit: pageSize })
  const { newer, showNewer } = useLiveList(key, question, query.isSuccess ? items : undefined)
  const allMerchants = useSession().user.merchantIds === null && merchantId === undefined
  const fields = useFilterFields(kind, offeredFacets(search, allMerchants))
  const columns = useColumns(kind, offeredOrders(search, allMerchants))
  return (
    <Page
      title={text(`transfers.${kind}s`)}
      actions={
        <a className="Button Button-plain" href={api.href('/transfers.csv', question)} download>
          {text('common.downloadCsv')}
        </a>
      }
    >
      <Filters values={search} onChange={onSearch} fields={fields} />
      {allMerchants && <p className="muted small">{text('transfers.chooseMerchant')}</p>}
      <NewerHint count={newer} onShow={showNewer} />
      <Loaded query={query}>
        {() => (
          <DataTable
            label={text(`transfers.${kind}s`)}
            columns={columns}
            columnsKey={kind}
            rows={items}
            rowId={idOf}
            onOpen={({ trackingId }) => void navigate({ to: '/transfers/$trackingId', params: { trackingId } })}
            sort={orderOf(search)}
            onSort={(sort) => onSearch({ sort })}
            more={more}
            empty={<NoTransfers kind={kind} filtered={isFiltered(search)} onShowAll={() => onSearch(noFilters)} />}
          />
        )}
      </Loaded>
    </Page>
  )
}

/** Offers to show newer transfers. Rows never move automatically while the user reads. */
function NewerHint({ count, onShow }: { count: number; onShow: () => void }) {
  const text = useText()
  return (
    <output className="TransfersPage-newer screen-only">
      {count > 0 && (
        <Button onPress={onShow}>
          {count > pageSize ? text('transfers.newerOrMore', { count: pageSize }) : text('transfers.newer', { count })}
        </Button>
      )}
    </output>
  )
}

function NoTransfers({ kind, filtered, onShowAll }: { kind: Kind; filtered: boolean; onShowAll: () => void }) {
  const text = useText()
  if (!filtered) {
    return (
      <Empty title={text(`transfers.noneYet.${kind}`)}>
        <p>{text('transfers.noneYetHelp')}</p>
      </Empty>
    )
  }
  return (
    <Empty title={text('transfers.noneFound')}>
      <p>{text('transfers.noneFoundHelp')}</p>
      <Button onPress={onShowAll}>{text('transfers.showAll')}</Button>
    </Empty>
  )
}
