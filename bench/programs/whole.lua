-- A run of an interpreter: calls, tables, strings, closures. Argument: turns.
local function queens(n, row, cols, d1, d2)
    if row == n then return 1 end
    local c = 0
    for i = 0, n - 1 do
        if not (cols[i] or d1[row + i] or d2[row - i]) then
            cols[i], d1[row + i], d2[row - i] = true, true, true
            c = c + queens(n, row + 1, cols, d1, d2)
            cols[i], d1[row + i], d2[row - i] = nil, nil, nil
        end
    end
    return c
end
local out = {}
for turn = 1, tonumber(arg[1]) do
    local words, s = {}, turn
    for _ = 1, 20000 do
        s = (s * 1103515245 + 12345) & 0x7fffffff
        local w = string.format("w%x", s % 997)
        words[w] = (words[w] or 0) + 1
    end
    local list = {}
    for w, n in pairs(words) do list[#list + 1] = w .. n end
    table.sort(list)
    local text = table.concat(list, " "):gsub("(%w)(%w*)", "%2%1")
    local p = { x = 0, y = 0.5 }
    for i = 1, 30000 do p = { x = p.x + i % 7, y = p.y * 1.0001 } end
    out[#out + 1] = string.format("%d %d %.6f %d", queens(7, 0, {}, {}, {}), #text, p.y, p.x)
end
print(table.concat(out, "\n"))
