import { Download } from 'lucide-react'
import { useIntl } from 'react-intl'
import type { Search } from '../api/api-address'
import { api } from '../api/api-client'
import { useText } from '../app/texts'
import { Menu } from './Menu'

interface CsvDownloadProps {
  /** The path of the file without its extension. */
  readonly path: string
  readonly question: Search
}

/** Offers a file for spreadsheets, in the language and the zone of the page, and an exact one for programs. */
export function CsvDownload({ path, question }: CsvDownloadProps) {
  const text = useText()
  const { locale } = useIntl()
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  return (
    <Menu
      label={
        <>
          <Download />
          {text('common.downloadCsv')}
        </>
      }
      items={[
        {
          id: 'spreadsheets',
          label: text('common.csvForSpreadsheets'),
          download: api.href(`${path}.csv`, { ...question, language: locale, timeZone }),
        },
        {
          id: 'programs',
          label: text('common.csvForPrograms'),
          download: api.href(`${path}-exact.csv`, question),
        },
      ]}
    />
  )
}
